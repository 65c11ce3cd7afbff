import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createUserFolder, type Run, type RunSetting, runCommand, type UserFolder } from "./command.test.helper.js";
import { serveHostileHttp } from "./hostile-servers.test.helper.js";
import { findSecrets } from "./secret-forms.test.helper.js";
import { smallEntry as everything } from "./small-servers.test.helper.js";
import { activeResources, until } from "./tool-server-world.test.helper.js";

let user: UserFolder;

beforeEach(() => {
  user = createUserFolder();
});

function run(argv: readonly string[], env: RunSetting["env"] = {}, columns?: number): Promise<Run> {
  const variables = { PATH: process.env.PATH, HOME: user.home, ...env };
  return runCommand([...argv, "--vault", "memory"], { env: variables, columns });
}

const why = (server: string, ...more: readonly string[]): string[] => [
  ...["why", server, "--config", user.file, "--trust", "--allow-insecure-loopback"],
  ...more,
];

/** A server on this machine; ends with the test. */
async function serve(
  handler: (request: IncomingMessage, response: ServerResponse, origin: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => handler(request, response, origin));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return origin;
}

function tokenThatExpired(): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256" })}.${part({ iat: 1_700_000_000, exp: 1_700_003_600 })}.c2lnbmF0dXJl`;
}

const refusing = (status: number) =>
  serve((_, response) => {
    response.writeHead(status, { "www-authenticate": 'Bearer error="invalid_token"' }).end();
  });

const bearer = (origin: string) => ({
  type: "http",
  url: `${origin}/mcp`,
  headers: { Authorization: "Bearer ${API_TOKEN}" },
});

describe("why", () => {
  test("[TS-ERR-2] prints the likely cause first, its evidence, the command that fixes it, then the steps", async () => {
    user.configure({ api: bearer(await refusing(401)) });
    const token = tokenThatExpired();
    const { code, stdout, stderr } = await run(why("api"), { API_TOKEN: token });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toBe("✗ api: The token has expired. (token-expired, found)");
    expect(stdout).toContain("The token in Authorization (from API_TOKEN) expired at 2023-11-14T23:13:20Z");
    expect(lines.indexOf("    export API_TOKEN=…")).toBeGreaterThan(0);
    expect(lines.indexOf("    export API_TOKEN=…")).toBeLessThan(lines.indexOf("Steps:"));
    expect(stdout).toMatch(/ {2}✓ configuration +\S*\.mcp\.json:3: Entry of type http\./);
    expect(stdout).toMatch(/ {2}✗ credential +The server returned 401 to the headers of the entry\./);
    expect(stdout).toMatch(/ {2}- protocol\n$/);
    expect(stdout).not.toContain(token);
  });

  test("fits the explanation to the terminal", async () => {
    user.configure({ api: bearer(await refusing(401)) });
    const { stdout } = await run(why("api"), { API_TOKEN: tokenThatExpired() }, 70);
    const [title = "", ...rest] = stripVTControlCharacters(stdout).split("\n");
    expect(title).toContain("✗ api");
    // Commands are not broken, so that they can be copied, and neither are long paths.
    for (const line of rest) expect(line.length <= 70 || !line.trim().includes(" ") || line.includes("/")).toBe(true);
  });

  test("prints JSON for scripts with --json", async () => {
    user.configure({ api: bearer(await refusing(403)) });
    const { code, stdout } = await run(why("api", "--json"), { API_TOKEN: "a-token-of-mine" });
    const explained = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(explained).toMatchObject({ server: "api", type: "http", isWell: false });
    expect(explained.causes[0]).toMatchObject({ code: "permission-missing", weight: 0.5 });
    expect(explained.steps[0]).toMatchObject({ step: "configuration", outcome: "ok" });
    expect(stdout).not.toContain("a-token-of-mine");
  });

  test("exits with 0 if the server works", async () => {
    user.configure({ everything });
    const { code, stdout } = await run(why("everything"));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✓ everything works\.\n\nSteps:\n/);
    expect(stdout).toMatch(/✓ protocol +\S.*, protocol 20\d\d-\d\d-\d\d .*; \d+ tools\./);
  });

  test("does not prompt for approval, and runs nothing without it", async () => {
    const witness = join(user.folder, "ran");
    user.configure({ local: { command: process.execPath, args: ["-e", "fs.writeFileSync('ran', '')"] } });
    const { code, stdout } = await run(["why", "local", "--config", user.file]);
    expect(code).toBe(1);
    expect(stdout).toContain("✗ local: The entry is not approved yet. (not-approved, found)");
    expect(stdout).toContain(`    wirescope trust local --config ${user.file}\n`);
    expect(() => readFileSync(witness)).toThrow();
  });

  test("does not start a disabled server, and says how to enable it", async () => {
    const witness = join(user.folder, "ran");
    user.configure({ local: { command: "touch", args: [witness], disabled: true } });
    const { code, stdout } = await run(why("local"));
    expect(code).toBe(1);
    expect(stdout).toContain("✗ local: The entry is disabled. (entry-disabled, found)");
    expect(stdout).toContain('To use it, remove "disabled": true or "enabled": false from its entry.');
    expect(() => readFileSync(witness)).toThrow();
  });

  test("suggests a similar name for an unknown server", async () => {
    user.configure({ everything });
    const { code, stderr } = await run(why("evrything"));
    expect(code).toBe(2);
    expect(stderr).toContain('The configuration has no server "evrything". Did you mean "everything"?');
    expect((await run(["why"])).code).toBe(2);
    expect((await run(why("a", "b"))).code).toBe(2);
  });

  test("[TS-DIAG-1] shows with --debug the headers without their values, and each refusal", async () => {
    user.configure({ api: bearer(await refusing(401)) });
    const { stderr } = await run(why("api", "--debug"), { API_TOKEN: "a-token-of-mine" });
    expect(stderr).toMatch(
      /api: POST http:\S+\/mcp with Authorization: Bearer \[redacted\] returned 401; challenge: Bearer error="invalid_token"/,
    );
    expect(stderr).not.toContain("a-token-of-mine");
  });
});

describe("401 to an entry without a credential", () => {
  /** A server that returns 401 at /mcp, and `elsewhere` at all other paths. */
  const refusingAll = (challenge: Record<string, string>, elsewhere = 404) =>
    serve(({ url }, response) => void response.writeHead(url === "/mcp" ? 401 : elsewhere, challenge).end());

  test.each([
    ["http", "says nothing", {}, 404],
    ["sse", "says nothing", {}, 404],
    ["http", "refuses metadata too", {}, 401],
    ["sse", "refuses metadata too", {}, 401],
    ["http", "fails at the metadata urls", {}, 503],
    ["http", "asks for Bearer, without any metadata", { "www-authenticate": 'Bearer realm="api"' }, 404],
    ["sse", "asks for Bearer, without any metadata", { "www-authenticate": 'Bearer realm="api"' }, 401],
    ["http", "asks for Basic", { "www-authenticate": "Basic" }, 404],
  ] as const)(
    "[TS-ERR-2] [TS-D-WHY-6] reports credential-missing for 401 by a server of type %s that %s",
    async (type, _, challenge, elsewhere) => {
      user.configure({ api: { type, url: `${await refusingAll(challenge, elsewhere)}/mcp` } });
      const { code, stdout } = await run(why("api"));
      expect({ code, title: stdout.split("\n")[0] }).toEqual({
        code: 1,
        title: "✗ api: The server requires a credential, but the entry has none. (credential-missing, found)",
      });
      const isBasic = Object.values(challenge).includes("Basic");
      const value = isBasic ? "Basic ${BASIC_CREDENTIALS}" : "Bearer ${API_TOKEN}";
      expect(stdout).toContain(`    "headers": {"Authorization": "${value}"}\n`);
    },
  );
});

describe("401 to a token in the wrong header", () => {
  test.each(["http", "sse", "ws"] as const)("[TS-ERR-2] [TS-D-WHY-5] names both headers (%s)", async (type) => {
    const origin = await refusing(401);
    const url = `${type === "ws" ? origin.replace("http", "ws") : origin}/mcp`;
    user.configure({ api: { type, url, headers: { "X-Auth-Token": "${API_TOKEN}" } } });
    const { code, stdout } = await run(why("api"), { API_TOKEN: "a-token-of-mine" });
    expect({ code, title: stdout.split("\n")[0] }).toEqual({
      code: 1,
      title: "✗ api: The token is in another header than the server requires. (wrong-header, found)",
    });
    expect(stdout).toContain(
      "  The server asks for Authorization: Bearer, but the token is in X-Auth-Token (from API_TOKEN).",
    );
    expect(stdout).toContain('    "Authorization": "Bearer ${API_TOKEN}"\n');
    expect(stdout).not.toContain("a-token-of-mine");
  });
});

describe("a server with OAuth", () => {
  /** A tool server and its authorization server in one, which serves only metadata. */
  const start = (more: Record<string, unknown> = {}) =>
    serve(({ url = "" }, response, origin) => {
      const respond = (value: unknown): void => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
      };
      if (url === "/.well-known/oauth-protected-resource/mcp") {
        respond({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      } else if (url === "/.well-known/oauth-authorization-server") {
        respond({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ["S256"],
          ...more,
        });
      } else {
        const parameter = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
        response.writeHead(401, { "www-authenticate": `Bearer ${parameter}` }).end();
      }
    });

  test("reports that a sign-in is required", async () => {
    user.configure({ notes: { type: "http", url: `${await start()}/mcp` } });
    const { code, stdout, stderr } = await run(why("notes", "--debug", "--profile", "work"));
    expect(code).toBe(1);
    expect(stdout).toContain("✗ notes: Sign-in required. (sign-in-needed, found)");
    expect(stdout).toContain(
      `wirescope login notes --config ${user.file} --allow-insecure-loopback --profile work --vault memory`,
    );
    expect(stdout).toMatch(/✓ authorization-server +http:/);
    expect(stderr).toMatch(/notes: GET http:\S+\/\.well-known\/oauth-authorization-server .*returned 200/);
    expect(stderr).toMatch(/notes: The authorization server is http:/);
  });

  test("checks the server against the requirements of the protocol with check --live", async () => {
    user.configure({ notes: { type: "http", url: `${await start()}/mcp` } });
    const check = ["check", user.file, "--live", "--trust", "--allow-insecure-loopback"];
    const { code, stdout } = await run(check);
    expect(code).toBe(0);
    expect(stdout).toMatch(/1 server, 1 note\n\nnotes \(http\)\n {2}✓ the host is reachable\n/);
    expect(stdout).toContain("✓ PKCE with S256 is supported");
    expect(stdout).toContain("✓ a client is registered or can be");
    expect(stdout).toContain("- the server accepts the stored token");
    const json = await run([...check, "--json"]);
    expect(JSON.parse(json.stdout).live[0].requirements.length).toBeGreaterThan(10);
  });

  test("fails check --live if the server does not meet the requirements", async () => {
    user.configure({
      notes: { type: "http", url: `${await start({ code_challenge_methods_supported: undefined })}/mcp` },
    });
    const { code, stdout } = await run(["check", user.file, "--live", "--trust", "--allow-insecure-loopback"]);
    expect(code).toBe(1);
    expect(stdout).toContain("✗ PKCE with S256 is supported");
  });
});

test("[TS-D-CONN-5] a malformed tool does not take away the others, and tools, why and check --live say what is wrong", async () => {
  const inputSchema = { type: "object" };
  const tools = [
    { name: "list", inputSchema: { type: "array" } },
    { name: "described", description: 5, inputSchema },
    { name: "good", inputSchema },
  ];
  const { entry } = await serveHostileHttp({
    "tools/list": (response, _, { id }) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools } })),
  });
  user.configure({ odd: entry });
  const options = ["--config", user.file, "--trust", "--allow-insecure-loopback"];
  const omitted =
    'tool "list" (inputSchema.type: Invalid input: expected "object"), description of tool "described" (description: Invalid input: expected string, received number)';
  const listed = await run(["tools", "odd", "--json", ...options]);
  expect(JSON.parse(listed.stdout).odd.tools).toEqual([
    { name: "described", inputSchema },
    { name: "good", inputSchema },
  ]);
  expect(listed.stderr).toBe(`wirescope: odd: omitted because of invalid values: ${omitted}.\n`);
  expect(listed.code).toBe(0);
  const explained = await run(why("odd"));
  expect(explained.stdout.replace(/\s+/g, " ")).toContain(
    `Omitted from its tools because of invalid values: ${omitted}.`,
  );
  const checked = await run(["check", user.file, "--live", "--trust", "--allow-insecure-loopback"]);
  expect(checked.stdout).toContain("✗ its tools are valid\n");
  expect(checked.code).toBe(1);
});

describe("check --live", () => {
  test("checks each server and lists the requirements that it meets", async () => {
    user.configure({ everything, api: bearer(await refusing(401)) });
    const argv = ["check", user.file, "--live", "--trust", "--allow-insecure-loopback"];
    const { code, stdout } = await run(argv, { API_TOKEN: "a-token-of-mine" });
    expect(code).toBe(1);
    expect(stdout).toMatch(/\neverything \(stdio\)\n {2}✓ the command exists and is executable\n/);
    expect(stdout).toContain(
      "✗ the credential is accepted\n      The server returned 401 to the headers of the entry.\n",
    );
    expect(stdout).toContain("    export API_TOKEN=…\n");
    expect(stdout).not.toContain("a-token-of-mine");
  });

  test("requires trust for --live, and does not allow it with --file-only", async () => {
    user.configure({ everything });
    const untrusted = await run(["check", user.file, "--live"]);
    expect(untrusted.code).toBe(1);
    expect(untrusted.stdout).toContain(`wirescope trust everything --config ${user.file}`);
    expect(await run(["check", user.file, "--live", "--file-only"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--live cannot be used with --file-only"),
    });
  });
});

test("leaves no process, socket or timer behind", async () => {
  user.configure({ everything, api: bearer(await refusing(401)) });
  const walk = async (): Promise<void> => {
    await run(why("everything"));
    await run(why("api"), { API_TOKEN: "a-token-of-mine" });
  };
  // What all diagnoses share stays after the first.
  await walk();
  const before = activeResources();
  await walk();
  await until(() => {
    for (const [kind, count] of Object.entries(activeResources())) expect(count).toBeLessThanOrEqual(before[kind] ?? 0);
  });
});

describe("[TS-SEC-5] a secret that a server repeats", () => {
  const secret = "s3cr3t-Value9/with+signs";

  test.each([["--no-color"], ["--json"], ["--debug"]])("prints no secret in why %s", async (...more) => {
    const origin = await serve((_, response) => {
      const challenge = `Bearer error="invalid_token", error_description="${secret} is not known", scope="${secret}"`;
      response.writeHead(401, { "www-authenticate": challenge, "x-echo": secret });
      response.end(`<title>${secret}</title> The token ${secret} is not known here. (${encodeURIComponent(secret)})`);
    });
    const script = join(user.folder, "child.sh");
    writeFileSync(script, `#!/bin/sh\necho "no such password: $PASSWORD" >&2\nexit 3\n`, { mode: 0o755 });
    const helper = join(user.folder, "helper.sh");
    writeFileSync(helper, `#!/bin/sh\necho '{"X-API-Key": "${secret}"}'\n`, { mode: 0o755 });
    user.configure({
      headers: bearer(origin),
      helper: { type: "http", url: `${origin}/mcp`, headersHelper: helper },
      child: { command: script, env: { PASSWORD: "${API_TOKEN}" } },
    });
    for (const server of ["headers", "helper", "child"]) {
      const { code, stdout, stderr } = await run(why(server, ...more), { API_TOKEN: secret });
      expect(code).toBe(1);
      // It shows the response of the server, without the token.
      expect(stdout).toContain("[redacted]");
      expect(findSecrets(stdout + stderr, { secret })).toEqual([]);
    }
  });
});
