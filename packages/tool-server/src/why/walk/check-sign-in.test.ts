import { describe, expect, onTestFinished, test } from "vitest";
import { createOAuthWorld, type OAuthWorld, testTransport } from "../../auth/oauth/oauth-world.test.helper.js";
import type { RefusalEvidence } from "../../causes/refusal-evidence.js";
import type { CredentialDescription, HeaderDescription } from "../../connection-info.js";
import { channels, type TraceEvent } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { AttemptEvidence, OAuthEvidence } from "../evidence.js";
import { createTestWalk } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { checkOffer, checkSignIn, inspectClientResponse } from "./check-sign-in.js";
import type { StoredSignIn } from "./prepare-credential.js";

const failure = { code: "UNAUTHORIZED", message: "Refused.", status: 401 } as const;
const refusal = { status: 401 } as RefusalEvidence;
const refused: AttemptEvidence = { credential: "oauth", failure, refusal };
const connected: AttemptEvidence = { credential: "headers", connected: {} as never };

/** A refusal that names where the metadata is, with the quirk resource-metadata-elsewhere. */
function challengedAt({ tool }: OAuthWorld): RefusalEvidence {
  const challenge = { schemes: ["bearer"], scopes: [], resourceMetadata: [`${tool.origin}/about/me.json`] };
  return { ...refusal, challenge } as unknown as RefusalEvidence;
}

function walkTo(world: OAuthWorld, options: Partial<ExplainOptions> = {}) {
  const oauth = { profile: "test", openVault: async () => world.vault };
  return createTestWalk({ type: "http", url: world.tool.url }, { secrets: world.secrets, oauth, ...options });
}

describe("a sign-in", () => {
  /** Checks the sign-in of a world, in which no user has signed in unless `before` says so. */
  async function check(
    world: OAuthWorld,
    attempt: AttemptEvidence | undefined,
    more: Partial<StoredSignIn> = {},
    given: object = {},
    before?: OAuthEvidence["before"],
  ): Promise<OAuthEvidence> {
    const options = {
      server: "notes",
      url: world.tool.url,
      profile: "test",
      vault: world.vault,
      http: world.http,
      secrets: world.secrets,
      allowInsecureLoopback: true,
      ...given,
    };
    const session = world.session(options);
    const signIn: StoredSignIn = {
      session,
      options,
      evidence: {
        vault: { summary: "In memory.", warning: undefined },
        before: before ?? (await session.status()),
        events: [],
      },
      close: async () => {},
      ...more,
    };
    return checkSignIn(walkTo(world), signIn, attempt, testTransport.connection);
  }

  test.each<[string, AttemptEvidence | undefined, Partial<StoredSignIn>]>([
    ["the walk did not get to the server", undefined, {}],
    ["the server did not ask for a sign-in, and nobody has signed in", { credential: "oauth" }, {}],
    ["the vault cannot be used", refused, { session: undefined, options: undefined }],
  ])("does not check a sign-in if %s", async (_, attempt, more) => {
    const world = await createOAuthWorld();
    const checked = await check(world, attempt, more);
    expect(checked).toMatchObject({ vault: { summary: "In memory." }, events: [] });
    expect(checked).not.toHaveProperty("resource");
    expect(world.authorization.requests).toEqual([]);
  });

  test("checks a sign-in that the server asks for, and registers no client", async () => {
    const world = await createOAuthWorld();
    const events: TraceEvent[] = [];
    const keep = (event: unknown): void => void events.push(event as TraceEvent);
    channels.trace.subscribe(keep);
    onTestFinished(() => void channels.trace.unsubscribe(keep));
    const checked = await check(world, refused);
    expect(checked).toMatchObject({
      resource: { outcome: "found" },
      authorization: { outcome: "found", assumesPkce: false },
      client: {
        kind: "none",
        outcome: "to-register",
        redirectUri: undefined,
        evidence: [`A sign-in will register a client at ${world.authorization.issuer}/register.`],
      },
    });
    expect(events.map(({ text }) => text)).toEqual(checked.client?.evidence);
    expect(world.events.map(({ kind }) => kind)).toEqual(["started", "discovered", "ended"]);
    expect(world.authorization.requests.every(({ method }) => method === "GET")).toBe(true);
  });

  test("checks a stored sign-in even if the server accepts the token, but not its client", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    const pages = world.authorization.count("/authorize");
    const checked = await check(world, { credential: "oauth" });
    expect(checked).toMatchObject({ authorization: { outcome: "found" }, before: { isSignedIn: true } });
    expect(checked).not.toHaveProperty("client");
    expect(world.authorization.count("/authorize")).toBe(pages);
  });

  test("tries the client of a stored sign-in once", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    const pages = world.authorization.count("/authorize");
    const { client } = await check(world, refused);
    expect(client).toMatchObject({
      kind: "registered",
      outcome: "accepted",
      redirectUri: expect.stringMatching(/^http/),
    });
    expect(world.authorization.count("/authorize")).toBe(pages + 1);
  });

  test("does not try the client of a stored sign-in without PKCE", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    world.authorization.quirks.add("pkce-absent");
    const pages = world.authorization.count("/authorize");
    const { client, authorization } = await check(world, refused);
    expect(client).toMatchObject({ kind: "registered", outcome: "unclear" });
    expect(authorization?.assumesPkce).toBe(false);
    expect(world.authorization.count("/authorize")).toBe(pages);
  });

  test("tries the client of a stored sign-in if PKCE is assumed", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    world.authorization.quirks.add("pkce-absent");
    const pages = world.authorization.count("/authorize");
    const { client, authorization } = await check(world, refused, {}, { assumePkce: true });
    expect(authorization?.assumesPkce).toBe(true);
    expect(client).toMatchObject({ kind: "registered", outcome: "accepted" });
    expect(world.authorization.count("/authorize")).toBe(pages + 1);
  });

  test("does not try a configured client that nobody has signed in with", async () => {
    const world = await createOAuthWorld();
    const { client } = await check(world, refused, {}, { client: { clientId: "mine" } });
    expect(client).toEqual({
      kind: "configured",
      outcome: "unclear",
      redirectUri: undefined,
      evidence: [expect.stringContaining("was not tried")],
    });
    expect(world.authorization.count("/authorize")).toBe(0);
  });

  test("reports metadata that is missing, and looks for no client", async () => {
    const world = await createOAuthWorld(["metadata-absent"]);
    const checked = await check(world, refused);
    expect(checked).toMatchObject({ resource: { outcome: "found" }, authorization: { outcome: "absent" } });
    expect(checked).not.toHaveProperty("client");
  });

  test("reads the metadata that the challenge names", async () => {
    const world = await createOAuthWorld(["resource-metadata-elsewhere"]);
    expect(await check(world, refused)).toMatchObject({ resource: { outcome: "absent" } });
    const checked = await check(world, { ...refused, refusal: challengedAt(world) });
    expect(checked).toMatchObject({ resource: { outcome: "found" }, authorization: { outcome: "found" } });
  });

  test("reports that the authorization server registers no client", async () => {
    const world = await createOAuthWorld(["registration-absent"]);
    const { client } = await check(world, refused);
    expect(client).toMatchObject({ kind: "none", outcome: "closed", evidence: [expect.stringContaining("no client")] });
  });

  test("reports what is stored if the check of a sign-in fails, and hides no defect", async () => {
    const world = await createOAuthWorld();
    const failing = (error: Error) => ({ ...world.vault, get: () => Promise.reject(error) });
    const unreadable = new ToolServerError("VAULT_KEY_WRONG", { problem: "Another key.", advice: "" });
    const before = await world.session().status();
    const checked = await check(world, refused, {}, { vault: failing(unreadable) }, before);
    expect(checked).toMatchObject({ vault: { summary: "In memory." } });
    expect(checked).not.toHaveProperty("client");
    await expect(check(world, refused, {}, { vault: failing(new TypeError("A defect.")) }, before)).rejects.toThrow(
      "A defect.",
    );
  });
});

describe("an offer of OAuth", () => {
  const header = (name: string): HeaderDescription => ({
    name,
    from: "configuration",
    scheme: undefined,
    variables: [],
  });
  const described = (kind: CredentialDescription["kind"], ...names: readonly string[]): CredentialDescription => ({
    kind,
    summary: "",
    headers: names.map(header),
    environment: [],
  });
  const withToken = described("headers", "X-Region", "Authorization");

  const offerOf = async (
    world: OAuthWorld,
    credential = withToken,
    attempt = connected,
    options: Partial<ExplainOptions> = {},
  ) => checkOffer(walkTo(world, options), world.tool.url, world.http, credential, attempt);

  test("names the headers with a token, the issuer of the offer, and whether a client can be registered", async () => {
    const world = await createOAuthWorld();
    expect(await offerOf(world)).toEqual({
      headers: ["Authorization"],
      issuer: world.authorization.issuer,
      canRegister: true,
      evidence: [
        expect.stringContaining("oauth-protected-resource"),
        expect.stringContaining("oauth-authorization-server"),
      ],
    });
    expect(await offerOf(world, withToken, { credential: "headers", refusal })).toMatchObject({ canRegister: true });
    expect(await offerOf(await createOAuthWorld(["registration-absent"]))).toMatchObject({ canRegister: false });
  });

  test.each<[string, CredentialDescription, AttemptEvidence, Partial<ExplainOptions>]>([
    ["the options have no OAuth", withToken, connected, { oauth: undefined }],
    ["the credential is another", described("helper", "Authorization"), connected, {}],
    ["no header has a token", described("headers", "X-Region"), connected, {}],
    ["the server was not reached", withToken, { credential: "headers", failure }, {}],
  ])("looks for no offer of OAuth if %s", async (_, credential, attempt, options) => {
    const world = await createOAuthWorld();
    expect(await offerOf(world, credential, attempt, options)).toBeUndefined();
    expect(world.authorization.requests).toEqual([]);
  });

  test("finds an offer of OAuth at the url that the challenge names", async () => {
    const world = await createOAuthWorld(["resource-metadata-elsewhere"]);
    const attempt = { credential: "headers", refusal: challengedAt(world) } as const;
    expect(await offerOf(world, withToken, attempt)).toMatchObject({ issuer: world.authorization.issuer });
  });

  test("looks for no offer of OAuth at a WebSocket server", async () => {
    const world = await createOAuthWorld();
    const oauth = { profile: "test", openVault: async () => world.vault };
    const walk = createTestWalk({ type: "ws", url: "ws://localhost:1/" }, { secrets: world.secrets, oauth });
    expect(await checkOffer(walk, world.tool.url, world.http, withToken, connected)).toBeUndefined();
    expect(world.authorization.requests).toEqual([]);
  });

  test.each(["pkce-absent", "pkce-plain", "metadata-absent", "metadata-failing", "metadata-of-another"] as const)(
    "reports no offer of OAuth if a sign-in could not succeed: %s",
    async (quirk) => {
      expect(await offerOf(await createOAuthWorld([quirk]))).toBeUndefined();
    },
  );
});

describe("the response of an authorization endpoint", () => {
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-mine");
  const inspected = (status: number, body = "", location = "") =>
    inspectClientResponse({ secrets }, { status, body, headers: { location } }, "http://127.0.0.1:1/callback");
  const inspect = (...given: Parameters<typeof inspected>) => inspected(...given).outcome;

  test("decides from the response of an authorization endpoint whether it knows the client and its redirect URI", () => {
    expect(inspect(200, "<form>Sign in</form>")).toBe("accepted");
    expect(inspect(302, "", "https://as.example/login?error=unauthorized_client")).toBe("accepted");
    expect(inspect(302, "", "http://127.0.0.1:1/callback?code=abc")).toBe("accepted");
    expect(inspect(399, "", "http://127.0.0.1:1/callback?error=unauthorized_client")).toBe("dead");
    expect(inspect(300, "", "http://127.0.0.1:1/callback?error=unauthorized_client")).toBe("dead");
    expect(inspect(302, "", "http://127.0.0.1:1/callback?error=access_denied")).toBe("unclear");
    expect(inspect(200, "", "http://127.0.0.1:1/callback?error=unauthorized_client")).toBe("accepted");
    expect(inspect(400, "", "http://127.0.0.1:1/callback?error=unauthorized_client")).toBe("unclear");
    expect(inspect(400, "<h1>invalid_client</h1>")).toBe("dead");
    expect(inspect(400, "Invalid redirect_uri for client")).toBe("redirect-mismatch");
    expect(inspect(100)).toBe("unclear");
  });

  test.each([400, 401, 403, 404])("believes what a response with status %i says", (status) => {
    expect(inspect(status, "invalid_client")).toBe("dead");
    expect(inspect(status, "redirect URI mismatch")).toBe("redirect-mismatch");
  });

  test.each([405, 429, 500, 503])("does not believe what a response with status %i says", (status) => {
    expect(inspect(status, "invalid_client")).toBe("unclear");
  });

  test.each([
    ["Unauthorized client", "dead"],
    ["Unknown client", "dead"],
    ["The client 42 does not exist.", "dead"],
    ["Client is not registered", "dead"],
    ["client abc: disabled", "dead"],
    ["The client is fine. Something else was not found", "unclear"],
    ["redirecturl is wrong", "redirect-mismatch"],
    ["<p>All fine</p><script>var a = 'invalid_client';\n</script>", "unclear"],
    ["<style>.invalid_client {}", "unclear"],
    ["<a href='invalid_client'>No</a>", "unclear"],
  ])("recognizes an unknown client in the text of a page: %s", (body, outcome) => {
    expect(inspect(400, body)).toBe(outcome);
  });

  test("reports the response of an authorization endpoint on one line, without markup, secrets and the code", () => {
    const located = inspected(302, "", "http://127.0.0.1:1/callback?code=the-code");
    expect(located.evidence).toEqual(["The authorization endpoint returns 302, and accepts the client."]);
    const error = inspected(302, "", "http://127.0.0.1:1/callback?error=a-secret-of-mine%1b");
    expect(error.evidence).toEqual(["The authorization endpoint returns 302, with the error [redacted]\\x1b."]);
    const page = inspected(503, "<p>One\n\n<b>two</b> a-secret-of-mine</p>");
    expect(page.evidence).toEqual(["The authorization endpoint returns 503: One two [redacted]"]);
    expect(inspected(500, "<p></p>").evidence).toEqual(["The authorization endpoint returns 500."]);
  });
});
