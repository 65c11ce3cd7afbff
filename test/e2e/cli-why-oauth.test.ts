import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Run, runCommand, type TerminalUser } from "./command.test.helper.js";
import {
  browsingPerson,
  createLoginWorld,
  type LoginWorld,
  pastingPerson,
  urlPrintedIn,
} from "./login-world.test.helper.js";

const why = ["why", "notes", "--oauth", "--trust"];

/** The steps that were printed as JSON, and the line after them. */
function linesOf({ stdout }: Run) {
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { steps: lines.slice(0, -1), result: lines.at(-1) };
}

/** What a sign-in must not print. */
interface SeenSecrets {
  state: string;
  challenge: string;
  code: string;
}

/** A user who pastes the last address of the browser, and records its secrets. */
function watchedPerson(seen: Partial<SeenSecrets>): TerminalUser {
  const person = pastingPerson();
  return async (question, stderr, signal) => {
    const reply = await person(question, stderr, signal);
    if (!/browser/.test(question)) return reply;
    const page = new URL(urlPrintedIn(stderr)).searchParams;
    seen.state = page.get("state") ?? "";
    seen.challenge = page.get("code_challenge") ?? "";
    seen.code = new URL(reply).searchParams.get("code") ?? "";
    return reply;
  };
}

/** A server on this machine; ends with the test. */
async function serve(
  handler: (request: IncomingMessage, response: ServerResponse, origin: string, body: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => handler(request, response, origin, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return origin;
}

function send(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

/** A tool server that is its own authorization server, with these responses by path; all else is 404. */
function serveFlow(
  routes: Readonly<
    Record<string, (origin: string, body: string) => readonly [number, unknown, Record<string, string>?]>
  >,
): Promise<string> {
  return serve((request, response, origin, body) => {
    const { pathname } = new URL(request.url ?? "", origin);
    if (pathname === "/mcp") {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return send(response, 401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}"` });
    }
    const [status, value, headers] = routes[pathname]?.(origin, body) ?? [404, {}];
    return send(response, status, value, headers);
  });
}

const resource = (origin: string) =>
  [200, { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["notes:read"] }] as const;
const metadata = (origin: string) =>
  [
    200,
    {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      code_challenge_methods_supported: ["S256"],
    },
  ] as const;

async function worldWith(origin: string): Promise<LoginWorld> {
  const world = await createLoginWorld();
  world.configure({ notes: { type: "http", url: `${origin}/mcp` } });
  return world;
}

describe("a complete flow", () => {
  test("[TS-D-WHY-8] shows every step of a sign-in in order, with its status and duration", async () => {
    const world = await createLoginWorld();
    const run = await world.run(why, { person: browsingPerson() });
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining("This signs in to")]);
    const titles = run.stdout.split("\n").filter((line) => /^[✓✗-] \d+\. /.test(line));
    expect(titles.map((line) => line.replace(/\d+ ms/, "… ms"))).toEqual([
      "✓ 1. request without a token (401, … ms)",
      "✓ 2. resource metadata (200, … ms)",
      "✓ 3. authorization server metadata (200, … ms)",
      "✓ 4. registration (201, … ms)",
      "✓ 5. client",
      "✓ 6. authorization request",
      "✓ 7. redirect (… ms)",
      "✓ 8. token (200, … ms)",
      "✓ 9. request with the token (… ms)",
    ]);
    for (const line of [
      `     ← chosen: registered just now`,
      "     → code_challenge: [redacted]",
      "     → state: [redacted]",
      "     → scope: notes:read offline_access",
      "     ← code: [redacted]",
      "     → grant_type: authorization_code",
      "     → code_verifier: [redacted]",
      "     ← access_token: [redacted]",
      "     ← refresh_token: [redacted]",
      "     ← token_type: Bearer",
      "     ← expires_in: 3600",
      "     ← scope: notes:read",
      "     → Authorization: Bearer [redacted]",
      "     ← name: notes",
    ]) {
      expect(run.stdout.split("\n")).toContain(line);
    }
    expect(run.stdout).toMatch(/← www-authenticate: Bearer .*resource_metadata=/);
    expect(run.stdout).toMatch(/\n✓ Signed in to notes\. The new sign-in is stored\.\n$/);
    expect((await world.run(["call", "notes", "read", "--trust"])).stdout).toBe("milk, eggs\n");
  });

  test("[TS-D-WHY-9] prints one JSON line per step, and neither a token, a code, a state, a challenge nor a verifier", async () => {
    const world = await createLoginWorld();
    const seen: Partial<SeenSecrets> = {};
    const run = await world.run([...why, "--json"], { person: watchedPerson(seen) });
    const { steps, result } = linesOf(run);
    expect(result).toEqual({ result: "signed-in", steps: 9, isStored: true });
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(steps[7]).toMatchObject({
      name: "token",
      outcome: "ok",
      method: "POST",
      url: `${world.authorization.issuer}/token`,
      sent: { grant_type: "authorization_code", code: "[redacted]", code_verifier: "[redacted]" },
      status: 200,
      received: { access_token: "[redacted]", token_type: "Bearer" },
    });
    const { state = "", challenge = "", code = "" } = seen;
    expect(world.authorization.issued.length).toBeGreaterThanOrEqual(2);
    for (const secret of [state, challenge, code, ...world.authorization.issued]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(run.stdout).not.toContain(secret);
    }
    // The challenge is the hash of the verifier.
    const hashes = (run.stdout.match(/[\w-]{43}/g) ?? []).map((text) =>
      createHash("sha256").update(text).digest("base64url"),
    );
    expect(hashes).not.toContain(challenge);
  });

  test("[TS-D-WHY-10] keeps the stored sign-in if the person does not complete the new one", async () => {
    const world = await createLoginWorld();
    await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
    const before = await world.run(["auth", "notes", "--json", "--trust"]);
    const refuse = async (question: string): Promise<string> => {
      if (/browser/.test(question)) throw new Error("the person closed the terminal");
      return "y";
    };
    const run = await world.run([...why, "--json"], { person: refuse });
    const { steps, result } = linesOf(run);
    expect([run.code, result]).toMatchObject([1, { result: "failed", error: { code: "SIGN_IN_FAILED" } }]);
    expect(steps.find(({ name }) => name === "client").received.chosen).toBe("registered at an earlier sign-in");
    expect((await world.run(["auth", "notes", "--json", "--trust"])).stdout).toBe(before.stdout);
    expect((await world.run(["call", "notes", "read", "--trust"])).stdout).toBe("milk, eggs\n");
  });

  test("[TS-D-WHY-10] replaces the stored sign-in after the server accepted the new token", async () => {
    const world = await createLoginWorld();
    await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
    const [old] = world.tool.seen;
    expect((await world.run(why, { person: browsingPerson() })).code).toBe(0);
    expect(world.authorization.count("/reg")).toBe(1);
    const fresh = [...world.tool.seen].filter((token) => token !== old);
    expect(fresh).toHaveLength(1);
    expect((await world.run(["call", "notes", "read", "--trust"])).stdout).toBe("milk, eggs\n");
    expect(world.tool.seen.size).toBe(2);
  });

  test("[TS-D-WHY-10] keeps the stored sign-in if the server rejects the new token", async () => {
    const world = await createLoginWorld();
    await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
    const before = await world.run(["auth", "notes", "--json", "--trust"]);
    // From now on the tool server accepts no token.
    world.authorization.find = async () => undefined;
    const run = await world.run([...why, "--json"], { person: browsingPerson() });
    const { steps, result } = linesOf(run);
    expect([run.code, result.result]).toEqual([1, "failed"]);
    expect(steps.at(-1)).toMatchObject({ name: "request with the token", outcome: "failed", status: 401 });
    expect((await world.run(["auth", "notes", "--json", "--trust"])).stdout).toBe(before.stdout);
  });
});

describe("without a sign-in", () => {
  test.for([
    ["--no-sign-in is given", ["--no-sign-in"], browsingPerson()],
    ["nobody is at the terminal", [], undefined],
    ["the person declines", [], async () => "n"],
  ] as const)("[TS-D-WHY-10] shows what would be sent, and registers nothing, if %s", async ([, more, person]) => {
    const world = await createLoginWorld();
    const run = await world.run([...why, "--json", ...more], { person });
    const { steps, result } = linesOf(run);
    expect([run.code, result]).toEqual([0, { result: "stopped", steps: 5 }]);
    expect(steps.slice(3)).toMatchObject([
      { name: "registration", outcome: "skipped", isPlanned: true, sent: { client_name: "Wirescope" } },
      {
        name: "authorization request",
        outcome: "skipped",
        isPlanned: true,
        url: `${world.authorization.issuer}/auth`,
        sent: { response_type: "code", state: "[redacted]", code_challenge: "[redacted]", resource: world.tool.url },
      },
    ]);
    expect([world.authorization.count("/reg"), world.authorization.count("/auth")]).toEqual([0, 0]);
  });

  test("[TS-D-WHY-8] says that the client is the configured one", async () => {
    const world = await createLoginWorld();
    world.configure({ notes: { type: "http", url: world.tool.url, oauth: { clientId: "by-hand" } } });
    const { steps } = linesOf(await world.run([...why, "--json", "--no-sign-in"]));
    expect(steps.slice(3)).toMatchObject([
      { name: "client", received: { chosen: "configured", client_id: "by-hand" } },
      { name: "authorization request", isPlanned: true, sent: { client_id: "by-hand" } },
    ]);
  });

  test("[TS-D-WHY-8] shows the flow of a server that is given by its url", async () => {
    const { tool, env } = await createLoginWorld();
    const { steps, result } = linesOf(
      await runCommand(["why", "--oauth", tool.url, "--no-sign-in", "--json"], { env }),
    );
    expect(result).toEqual({ result: "stopped", steps: 5 });
    expect(steps[0]).toMatchObject({ name: "request without a token", url: tool.url, status: 401 });
  });

  test("rejects --no-sign-in without --oauth, and a server with its own credential", async () => {
    const world = await createLoginWorld();
    expect(await world.run(["why", "notes", "--no-sign-in"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--no-sign-in requires --oauth."),
    });
    const headers = { Authorization: "Bearer ${NOTES_TOKEN}" };
    world.configure({ notes: { type: "http", url: world.tool.url, headers } });
    expect(await world.run(why, { env: { NOTES_TOKEN: "a-token-of-the-user" } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("does not use OAuth"),
    });
  });
});

describe("a flow that fails", () => {
  test("[TS-D-WHY-8] names every url that was tried if the authorization server has no metadata", async () => {
    const elsewhere = await serveFlow({});
    const origin = await serveFlow({
      "/.well-known/oauth-protected-resource/mcp": (own) => [
        200,
        { resource: `${own}/mcp`, authorization_servers: [`${elsewhere}/tenant`] },
      ],
    });
    const world = await worldWith(origin);
    const { code, stdout } = await world.run(why, { person: browsingPerson() });
    expect(code).toBe(1);
    for (const path of [
      "/.well-known/oauth-authorization-server/tenant",
      "/.well-known/openid-configuration/tenant",
      "/tenant/.well-known/openid-configuration",
    ]) {
      expect(stdout).toContain(`     GET ${elsewhere}${path}\n`);
    }
    expect(stdout).toContain("✗ The flow failed after step 5. ");
    expect(stdout).toContain("(metadata-missing)");
    expect(stdout).toMatch(/\n {2}→ Report it to the operator of the server\./);
  });

  test("[TS-D-WHY-8] shows a refused registration with its cause and what to configure", async () => {
    const origin = await serveFlow({
      "/.well-known/oauth-protected-resource/mcp": resource,
      "/.well-known/oauth-authorization-server": metadata,
      "/register": () => [403, { error: "access_denied", error_description: "Only\u001b[31m partners." }],
    });
    const world = await worldWith(origin);
    const { code, stdout } = await world.run([...why, "--json"], { person: browsingPerson() });
    const { steps, result } = linesOf({ code, stdout, stderr: "" });
    expect(code).toBe(1);
    expect(steps.at(-1)).toMatchObject({
      name: "registration",
      outcome: "failed",
      status: 403,
      received: { error: "access_denied", error_description: "Only\\x1b[31m partners." },
    });
    expect(result).toMatchObject({ error: { code: "REGISTRATION_REFUSED" }, cause: { code: "registration-refused" } });
    expect(result.cause.fix.advice).toContain("register a client");
    expect(stdout).not.toContain("\u001b");
  });

  test("[TS-D-WHY-9] bounds what a hostile server sends, and hides its secrets under any spelling", async () => {
    const secret = "s3cr3t-value-of-the-server";
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, "x".repeat(400)]));
    const origin = await serveFlow({
      "/.well-known/oauth-protected-resource/mcp": resource,
      "/.well-known/oauth-authorization-server": metadata,
      "/register": () => [
        400,
        {
          clientSecret: secret,
          "Set-Cookie": `session=${secret}`,
          nested: { refresh_token: secret },
          error: "invalid",
          error_description: `Sent ${secret} and code=abcdefghij.`,
          ...many,
        },
        { "set-cookie": `session=${secret}` },
      ],
    });
    const world = await worldWith(origin);
    const { stdout } = await world.run([...why, "--json"], { person: browsingPerson() });
    const { steps } = linesOf({ code: 1, stdout, stderr: "" });
    const { received } = steps.at(-1);
    expect(received).toMatchObject({
      clientSecret: "[redacted]",
      "Set-Cookie": "[redacted]",
      nested: '{"refresh_token":"[redacted]"}',
      error_description: "Sent [redacted] and code=[redacted]",
      "…": "445 more fields",
    });
    expect(Object.keys(received)).toHaveLength(61);
    expect(Math.max(...Object.values<string>(received).map((value) => value.length))).toBe(300);
    expect(JSON.stringify(steps)).not.toContain(secret);
  });
});
