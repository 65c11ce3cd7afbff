import { createHash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { startHostileAuthorizationServer } from "./authorization-server/hostile-authorization-server.js";
import { isQuirk, type Quirk, quirkTable } from "./quirk-table.js";
import { type QuirksOptions, startQuirks } from "./start-quirks.js";

const redirectUri = "http://127.0.0.1:1/callback";
const verifier = "v".repeat(43);
const challenge = createHash("sha256").update(verifier).digest("base64url");

/** Every response that a simple client gets, from the first 401 to the end of its tokens, without random parts. */
async function* transcriptOf(options: QuirksOptions): AsyncGenerator<string> {
  const { tool, authorization, other, close } = await startQuirks(options);
  onTestFinished(close);
  async function* send(url: string, init: RequestInit = {}): AsyncGenerator<string, Received> {
    // Short only if no response is expected.
    const timeoutMs = options.quirks?.includes("metadata-silent") && url.includes("well-known") ? 200 : 30_000;
    const received = await fetchOnce(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    const headers = ["location", "www-authenticate", "content-type"].map(
      (name) => `${name}: ${received.headers.get(name)}`,
    );
    const line = [received.status, ...headers, received.text].join("\n");
    const known = [tool, authorization, other].reduce(
      (text, { origin }, index) => text.replaceAll(origin, `http://server-${index}`),
      line.replaceAll(encodeURIComponent(authorization.origin), "server-1"),
    );
    yield known.replace(/[\da-f]{8}-[\da-f-]{27}/g, "<id>").replace(/http:\/\/127\.0\.0\.1:\d+\/e/, "<away>/e");
    return received;
  }
  const form = (fields: Record<string, string>): RequestInit => ({ method: "POST", body: new URLSearchParams(fields) });
  const json = (value: unknown, headers = {}): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  });

  yield* send(tool.url, json({ id: 1, method: "tools/list" }));
  for (const place of [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource",
    "/about/me.json",
  ]) {
    yield* send(`${tool.origin}${place}`);
  }
  for (const place of ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]) {
    yield* send(`${authorization.origin}${place}`);
  }
  const registered = yield* send(`${authorization.origin}/register`, json({ redirect_uris: [redirectUri] }));
  const clientId = field(registered.text, "client_id") || "https://client.example/document";
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    state: "s",
    scope: "notes:read",
  });
  const location = (yield* send(`${authorization.origin}/authorize?${query}`)).headers.get("location") ?? redirectUri;
  const code = new URL(location).searchParams.get("code") ?? "";
  const token = `${authorization.origin}/token`;
  const tokens = yield* send(
    token,
    form({ code, code_verifier: verifier, redirect_uri: redirectUri, client_id: clientId }),
  );
  const bearer = { authorization: `Bearer ${field(tokens.text, "access_token")}` };
  for (let id = 1; id <= 6; id += 1) yield* send(tool.url, json({ id, method: "tools/call" }, bearer));
  yield* send(`${tool.origin}/.well-known/oauth-protected-resource/mcp`);
  const refresh = { grant_type: "refresh_token", client_id: clientId };
  const first = { ...refresh, refresh_token: field(tokens.text, "refresh_token") };
  const renewed = yield* send(token, form(first));
  yield* send(token, form({ ...refresh, refresh_token: "never-given" }));
  // The reuse of a refresh token revokes its whole grant.
  yield* send(token, form(first));
  yield* send(token, form({ ...refresh, refresh_token: field(renewed.text, "refresh_token") }));
}

async function wholeTranscriptOf(options: QuirksOptions): Promise<string[]> {
  const transcript: string[] = [];
  for await (const line of transcriptOf(options)) transcript.push(line);
  return transcript;
}

const withoutSwitch = new Map<string, Promise<string[]>>();

function transcriptWithout(base: readonly Quirk[]): Promise<string[]> {
  const known = withoutSwitch.get(base.join()) ?? wholeTranscriptOf({ quirks: base });
  withoutSwitch.set(base.join(), known);
  return known;
}

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function fetchOnce(url: string, init: RequestInit): Promise<Received> {
  try {
    const response = await fetch(url, { ...init, redirect: "manual" });
    const reader = response.body?.getReader();
    const { value = new Uint8Array() } = (await reader?.read()) ?? {};
    await reader?.cancel();
    return { status: response.status, headers: response.headers, text: Buffer.from(value).toString().slice(0, 2000) };
  } catch (error) {
    if (!(error instanceof Error && error.name === "TimeoutError")) throw error;
    return { status: 0, headers: new Headers(), text: "" };
  }
}

function field(text: string, name: string): string {
  try {
    return JSON.parse(text)[name] ?? "";
  } catch {
    return "";
  }
}

test("serves a correct sign-in while no switch is on, from a 401 to refreshed tokens, and detects the reuse of a refresh token", async () => {
  const transcript = await wholeTranscriptOf({});
  expect(transcript.map((line) => line.split("\n", 1)[0])).toEqual([
    ...["401", "200", "404", "404", "200", "200", "201", "302", "200"],
    // The calls, and the metadata again.
    ...["200", "200", "200", "200", "200", "200", "200"],
    // A refresh, a refused one, a reuse, and a refresh after that.
    ...["200", "400", "400", "400"],
  ]);
  expect(transcript).toEqual(await wholeTranscriptOf({}));
});

test.each(Object.keys(quirkTable) as Quirk[])("changes what a client sees with %s", async (quirk) => {
  // This one has an effect only if the client does not register.
  const companions: Partial<Record<Quirk, Quirk>> = { "takes-metadata-documents": "registration-absent" };
  const base = [companions[quirk]].filter((each) => each !== undefined);
  const expected = (await transcriptWithout(base)).values();
  let isChanged = false;
  for await (const line of transcriptOf({ quirks: [...base, quirk] })) {
    isChanged = line !== expected.next().value;
    if (isChanged) break;
  }
  expect(isChanged).toBe(true);
});

test("rejects expired tokens, and may require a scope", async () => {
  const { tool, authorization, close } = await startQuirks({ lifetimeS: 0, neededScope: "admin" });
  onTestFinished(close);
  expect(authorization.lifetimeS).toBe(0);
  expect(tool.neededScope).toBe("admin");
});

test("isQuirk accepts only names of quirks", () => {
  expect(isQuirk("metadata-html")).toBe(true);
  for (const name of ["toString", "metadata", ""]) expect(isQuirk(name)).toBe(false);
});

test("shows the consent page if one is given, and sends the decision back to the client", async () => {
  const consentPage = {
    headers: { "content-type": "text/html" },
    render: (query: URLSearchParams) => `Allow ${query.get("scope")}?`,
  };
  const server = await startHostileAuthorizationServer({ consentPage, maxRequests: 1 });
  onTestFinished(server.close);
  const body = JSON.stringify({ redirect_uris: [redirectUri] });
  const headers = { "content-type": "application/json" };
  const registered = await fetch(`${server.origin}/register`, { method: "POST", headers, body });
  const { client_id: clientId } = (await registered.json()) as { client_id: string };
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "notes:read",
    state: "s",
  });
  const url = `${server.origin}/authorize?${query}`;
  expect(await (await fetch(url)).text()).toBe("Allow notes:read?");
  const decide = async (decision: string): Promise<URLSearchParams> => {
    const form = new URLSearchParams({ decision });
    const response = await fetch(url, { method: "POST", body: form, redirect: "manual" });
    expect(response.status).toBe(303);
    return new URL(response.headers.get("location") ?? "").searchParams;
  };
  expect((await decide("deny")).get("error")).toBe("access_denied");
  expect((await decide("allow")).get("code")).toMatch(/^code-/);
  expect(server.requests).toHaveLength(1);
});
