import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startBareIssuer } from "../../auth/oauth/bare-issuer.test.helper.js";
import { createOAuthWorld } from "../../auth/oauth/oauth-world.test.helper.js";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { channels } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { failureOf } from "../../failure-of.test.helper.js";
import { createScriptFolder, type ScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createToolServers, type ToolServers, type ToolServersOptions } from "./tool-servers.js";

interface World extends ScriptFolder {
  /** Sets the output of the program `op` from now on. */
  write(secret: string): Promise<void>;
  /** The arguments of each run of `op`. */
  runs(): string[];
  /** Everything that was reported. */
  readonly reported: unknown[];
  open(entry: object, options?: Partial<ToolServersOptions>): ToolServers;
}

/** A project, and a password manager `op` in PATH, which writes the content of `secret`. */
async function createWorld(body = 'echo "$@" >> runs; cat secret'): Promise<World> {
  const folder = await createScriptFolder();
  const write = (secret: string): Promise<void> => writeFile(join(folder.path, "secret"), `${secret}\n`);
  await folder.sh(body, "op");
  await write("secret-of-the-vault-1");
  const reported: unknown[] = [];
  for (const channel of Object.values(channels)) {
    const listener = (message: unknown): void => void reported.push(message);
    channel.subscribe(listener);
    onTestFinished(() => void channel.unsubscribe(listener));
  }
  return {
    ...folder,
    write,
    reported,
    runs: () =>
      existsSync(join(folder.path, "runs"))
        ? readFileSync(join(folder.path, "runs"), "utf8").trimEnd().split("\n")
        : [],
    open(entry, options = {}) {
      const text = JSON.stringify({ mcpServers: { notes: entry } });
      const configuration = parseConfiguration(text);
      const servers = createToolServers({
        configuration,
        variables: { PATH: `${folder.path}:${process.env.PATH}`, ITEM: "notes" },
        pluginRoot: folder.path,
        secrets: createSecretRegistry(),
        assertTrusted: async () => {},
        backOff: { firstMs: 1, maxMs: 1 },
        settings: { info: { name: "test", version: "0" } },
        ...options,
      });
      onTestFinished(() => servers.close());
      return servers;
    },
  };
}

const reference = { command: ["op", "read", "op://vault/${ITEM}/field; $(id)"] };
const authorization = { Authorization: { ...reference, prefix: "Bearer " } };

/** A tool server over HTTP that accepts one token. */
async function serve(accepted: () => string): Promise<{ readonly url: string; readonly sent: unknown[] }> {
  const sent: unknown[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body || "{}");
    sent.push(request.headers.authorization);
    if (request.headers.authorization !== `Bearer ${accepted()}`) response.writeHead(401).end();
    else if (request.method !== "POST") response.writeHead(405).end();
    else if (method === "server/discover") response.writeHead(400).end();
    else if (id === undefined) response.writeHead(202).end();
    else {
      const serverInfo = { name: "notes", version: "1" };
      const initialized = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo };
      const result = method === "initialize" ? initialized : {};
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sent };
}

test("[TS-D-SECRET-1] sends the output of a command as a header, and runs it again once after a 401", async () => {
  const world = await createWorld();
  let accepted = "secret-of-the-vault-1";
  const { url, sent } = await serve(() => accepted);
  const connection = await world.open({ type: "http", url, headers: authorization }).open("notes");
  await connection.connect();
  await connection.ping();
  expect(world.runs()).toEqual(["read op://vault/notes/field; $(id)"]);
  accepted = "secret-of-the-vault-2";
  await world.write(accepted);
  await connection.ping();
  expect(world.runs()).toHaveLength(2);
  expect(sent.slice(-2)).toEqual(["Bearer secret-of-the-vault-1", "Bearer secret-of-the-vault-2"]);
  const described = connection.info.credential();
  expect(described).toMatchObject({ kind: "helper", summary: "command op (Authorization)" });
  expect(connection.redact(`${accepted} Bearer ${accepted}`)).toBe("[redacted] Bearer [redacted]");
  expect(inspect([described, world.reported.map((each) => JSON.stringify(each) ?? "")], { depth: 9 })).not.toContain(
    "secret-of-the-vault",
  );
});

test("[TS-D-SECRET-2] does not run a command of an entry that is not trusted", async () => {
  const world = await createWorld();
  const { url } = await serve(() => "secret-of-the-vault-1");
  let isTrusted = true;
  const distrust = new ToolServerError("NOT_TRUSTED", { problem: "It changed.", advice: "" });
  const assertTrusted = async (): Promise<void> => {
    if (!isTrusted) throw distrust;
  };
  const connection = await world.open({ type: "http", url, headers: authorization }, { assertTrusted }).open("notes");
  const stdio = { command: "node", env: { TOKEN: reference } };
  const child = await world.open(stdio, { assertTrusted }).open("notes");
  isTrusted = false;
  expect(await failureOf(connection.connect())).toMatchObject({ code: "NOT_TRUSTED" });
  expect(await failureOf(child.connect())).toMatchObject({ code: "NOT_TRUSTED" });
  expect(world.runs()).toEqual([]);
});

test.each([
  ["hangs", "sleep 30", "HELPER_TIMEOUT", "did not end within 300 ms and was stopped"],
  ["writes too much", "yes secret-of-the-vault-1", "HELPER_OUTPUT_INVALID", "wrote more than 65536 bytes"],
  ["writes several lines", "cat secret secret", "HELPER_OUTPUT_INVALID", "wrote more than one line"],
  ["writes nothing", "exit 0", "HELPER_OUTPUT_INVALID", "wrote nothing to standard output"],
  ["writes control characters", "printf 'a\\033b'", "HELPER_OUTPUT_INVALID", "wrote control characters"],
  [
    "fails",
    "cat secret; cat secret >&2; exit 4",
    "HELPER_FAILED",
    'exited with code 4; last lines of standard error: "[redacted]"',
  ],
])("[TS-D-SECRET-3] reports a command that %s, without its output", async (_, body, code, what) => {
  const world = await createWorld(body);
  const { url } = await serve(() => "secret-of-the-vault-1");
  const timed = { ...reference, timeout: body.startsWith("sleep") ? 300 : 20_000 };
  const entries = [
    [{ type: "http", url, headers: { "X-API-Key": timed } }, "headers.X-API-Key"],
    [{ command: "node", env: { TOKEN: timed } }, "env.TOKEN"],
  ] as const;
  for (const [entry, field] of entries) {
    const connection = await world.open(entry).open("notes");
    const error = await failureOf(connection.connect());
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(`The command op for ${field} of server "notes" ${what}`);
    expect(inspect(error, { depth: 9 })).not.toContain("secret-of-the-vault");
  }
});

const child = `
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const serverInfo = { name: process.env.TOKEN + " " + process.env.PLAIN, version: "1" };
  const body = method === "initialize"
    ? { result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo } }
    : { error: { code: -32601, message: "unknown" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
});`;

test("[TS-D-SECRET-4] runs the commands of env before each start of the process", async () => {
  const world = await createWorld();
  await writeFile(join(world.path, "server.cjs"), child);
  const env = { TOKEN: reference, PLAIN: "plain" };
  const entry = { command: process.execPath, args: ["server.cjs"], env };
  for (const secret of ["secret-of-the-vault-1", "secret-of-the-vault-2"]) {
    await world.write(secret);
    const servers = world.open(entry);
    const connection = await servers.open("notes");
    await connection.connect();
    expect(connection.server?.name).toBe(`${secret} plain`);
    expect(connection.redact(secret)).toBe("[redacted]");
    await servers.close();
  }
  expect(world.runs()).toHaveLength(2);
});

test("[TS-D-SECRET-5] runs the command of the client secret each time a token is requested", async () => {
  const world = await createWorld();
  const basic: string[] = [];
  const issuer = await startBareIssuer((request, self) => {
    if (request.path.startsWith("/.well-known/")) return [200, { issuer: self, token_endpoint: `${self}/token` }];
    const [, encoded = ""] = (request.headers.authorization ?? "").split(" ");
    basic.push(Buffer.from(encoded, "base64").toString());
    return [200, { access_token: `token-${basic.length}-of-the-machine`, expires_in: 3600 }];
  });
  const oauthWorld = await createOAuthWorld();
  oauthWorld.tool.authorizationServers = [issuer];
  oauthWorld.authorization.scopesOf = (token) => (token === "token-2-of-the-machine" ? ["notes:read"] : undefined);
  const oauth = {
    vault: oauthWorld.vault,
    allowInsecureLoopback: true,
    overrides: () => ({ grant: { kind: "client-credentials" } }) as const,
  };
  const entry = { type: "http", url: oauthWorld.tool.url, oauth: { clientId: "us", clientSecret: reference } };
  const open = () => world.open(entry, { oauth }).open("notes");
  await failureOf((await open()).connect());
  await world.write("secret-of-the-vault-2");
  const connection = await open();
  await connection.connect().catch(() => {});
  expect(basic.slice(0, 2)).toEqual(["us:secret-of-the-vault-1", "us:secret-of-the-vault-2"]);
  expect(connection.redact("secret-of-the-vault-2")).toBe("[redacted]");
});
