/**
 * Failures that users of other clients reported, by number: each is tested with a server that misbehaves like that.
 * Those of OAuth are in `packages/tool-server/src/auth/oauth`, those of storage next to the vaults.
 */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { createSecretRegistry } from "@wirescope/tool-server";
import { describe, expect, test } from "vitest";
import { startFaultServer, withEach } from "./fault-servers.test.helper.js";
import { serveHostileHttp, startGuardedServer } from "./hostile-servers.test.helper.js";
import {
  expectNothingLeft,
  failureOf,
  openConnection,
  openServers,
  temporaryFolder,
  textOf,
  until,
} from "./tool-server-world.test.helper.js";

expectNothingLeft();

/** A helper that prints the next of these tokens at each run. */
function writeHelper(folder: string, ...tokens: string[]): string {
  const path = join(folder, "helper.sh");
  const lines = tokens.map((token, index) => `[ "$n" = ${index + 1} ] && token=${token}`);
  const script = `#!/bin/sh
echo run >> "${folder}/runs"
n=$(wc -l < "${folder}/runs" | tr -d ' ')
token=${tokens.at(-1)}
${lines.join("\n")}
echo "{\\"Authorization\\": \\"Bearer $token\\"}"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

const runsOf = (folder: string): number => readFileSync(join(folder, "runs"), "utf8").trim().split("\n").length;

describe("headers", () => {
  test("[TS-D-AUTH-1] (12) sends a static Authorization header unchanged, and starts no OAuth when it is refused", async () => {
    const server = await startGuardedServer(() => false);
    const entry = { type: "http", url: server.url, headers: { Authorization: "Bearer ${API_TOKEN}" } };
    const connection = await openConnection(entry, { variables: { API_TOKEN: "stale-token-0815" } });
    const error = await failureOf(connection.connect());
    expect(error.code).toBe("UNAUTHORIZED");
    expect(error.message).toContain("API_TOKEN");
    expect(error.details.causes?.length).toBeGreaterThan(0);
    expect(new Set(server.requests.map(({ authorization }) => authorization))).toEqual(
      new Set(["Bearer stale-token-0815"]),
    );
    expect(server.elsewhere).toEqual([]);
  });

  test("[TS-HELPER-2] [TS-D-AUTH-1] (13) runs the helper at connection time, and again at 401, and registers no client", async () => {
    const folder = temporaryFolder();
    const helper = writeHelper(folder, "first-token-4711", "second-token-4712");
    const server = await startGuardedServer(({ authorization }) => authorization === "Bearer second-token-4712");
    const connection = await openConnection({ type: "http", url: server.url, headersHelper: helper });
    expect(await textOf(connection, "echo")).toBe("echo");
    expect([runsOf(folder), server.elsewhere]).toEqual([2, []]);
    expect(server.requests[0]?.authorization).toBe("Bearer first-token-4711");
  });

  test("[TS-D-AUTH-1] (13) runs a helper whose every token is refused twice, and fails with a diagnosis", async () => {
    const folder = temporaryFolder();
    const helper = writeHelper(folder, "first-token-4711", "second-token-4712");
    const server = await startGuardedServer(() => false);
    const connection = await openConnection({ type: "http", url: server.url, headersHelper: helper });
    const { code, message } = await failureOf(connection.connect());
    expect([code, message]).toEqual(["UNAUTHORIZED", expect.stringContaining("after a new run")]);
    expect([runsOf(folder), server.elsewhere]).toEqual([2, []]);
  });

  test("(15) uses a personal token, although the server advertises OAuth", async () => {
    const server = await startGuardedServer(({ authorization }) => authorization === "Bearer personal-token-42");
    const entry = { type: "http", url: server.url, headers: { Authorization: "Bearer ${API_TOKEN}" } };
    const connection = await openConnection(entry, { variables: { API_TOKEN: "personal-token-42" } });
    expect(await textOf(connection, "echo")).toBe("echo");
    expect(server.requests.every(({ authorization }) => authorization === "Bearer personal-token-42")).toBe(true);
    expect(server.elsewhere).toEqual([]);
  });

  test("[TS-D-AUTH-1] (16) reports a refused API key with a diagnosis, and registers no client", async () => {
    const server = await startGuardedServer(() => false);
    const entry = { type: "http", url: server.url, headers: { "X-API-Key": "${API_KEY}" } };
    const connection = await openConnection(entry, { variables: { API_KEY: "key-of-somebody-else" } });
    const { code, message } = await failureOf(connection.connect());
    expect([code, message]).toEqual(["UNAUTHORIZED", expect.stringContaining("X-API-Key")]);
    expect(message).not.toContain("key-of-somebody-else");
    expect(server.elsewhere).toEqual([]);
  });
});

describe("substitution", () => {
  test.each(["${API_TOKEN}", "${}", "${API_TOKEN", "a${b c}"])("(17) never sends %s as it is written", async (text) => {
    const server = await startGuardedServer(() => true);
    const entry = { type: "http", url: server.url, headers: { "X-API-Key": text } };
    const servers = openServers({ faulty: entry }, { variables: {} });
    const { code } = await failureOf(servers.open("faulty"));
    expect(code).toMatch(/^(VARIABLE_UNUSABLE|ENTRY_INVALID)$/);
    expect(server.requests).toEqual([]);
  });
});

describe("transport", () => {
  test("[TS-D-CONN-4] (29) does not show a server that died as connected, even if nobody calls it", async () => {
    // The older era over HTTP takes longer and is tested in streamable-http-transport.test.ts.
    const kinds = [
      { kind: "http", era: "modern" },
      { kind: "sse", era: "legacy" },
      { kind: "ws", era: "modern" },
      { kind: "stdio", era: "modern" },
    ] as const;
    await withEach(await Promise.all(kinds.map((kind) => startFaultServer(kind))), async (server) => {
      const connection = await openConnection(server.entry);
      expect(await textOf(connection, "echo", { text: "hello" })).toBe("hello");
      expect(connection.state).toBe("READY");
      await server.kill();
      await until(() => expect(connection.state).not.toBe("READY"));
    });
  });
});

describe("redaction", () => {
  const token = "v3ry-s3cret-t0ken";

  test("(38) does not show a token in an invalid response in the validation error", async () => {
    const json = { "content-type": "application/json" };
    const server = await serveHostileHttp({
      invalid: (response, _, { id }) => {
        const result = { content: [{ type: token, text: { [token]: token } }], [token]: token };
        response.writeHead(200, json).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      },
      refused: (response, _, { id }) => {
        const error = { code: -32602, message: `bad ${token}`, data: { issues: [{ received: token, [token]: 1 }] } };
        response.writeHead(200, json).end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      },
      garbage: (response) => response.socket?.end(`Authorization: Bearer ${token}\r\n\r\n`),
      header: (response) => response.socket?.end(`HTTP/1.1 200 OK\r\nX Echo: ${token}\r\n\r\n`),
    });
    const secrets = createSecretRegistry();
    const connection = await openConnection(
      { ...server.entry, headers: { Authorization: "Bearer ${API_TOKEN}" } },
      { secrets, variables: { API_TOKEN: token } },
    );
    for (const [name, code] of [
      ["invalid", "RESPONSE_INVALID"],
      ["refused", "CALL_REFUSED"],
      ["garbage", "NOT_A_TOOL_SERVER"],
      ["header", "NOT_A_TOOL_SERVER"],
    ] as const) {
      const error = await failureOf(connection.callTool({ name, arguments: {} }));
      expect(error.code).toBe(code);
      expect(inspect(error, { depth: null, showHidden: true })).not.toContain(token);
    }
  });
});

/** The tests of the other failures: the file, and the beginning of the title. */
const elsewhere: Record<number, readonly [file: string, title: string]> = {
  14: [
    "packages/tool-server/src/connection/transports/streamable-http-transport.test.ts",
    "requests the headers again for each request",
  ],
  27: ["test/e2e/tool-server-calls.test.ts", "[TS-D-CONN-3] initializes a forgotten session again once for all calls"],
  28: ["test/e2e/tool-server-hostile.test.ts", "[TS-D-HTTP-3] fails no call because of a pooled socket that died"],
  30: ["test/e2e/tool-server-hostile.test.ts", "[TS-D-CONN-3] pauses between attempts to connect to a server"],
  31: ["test/e2e/tool-server-calls.test.ts", "[TS-D-CONN-2] restarts the timeout at progress"],
  32: [
    "packages/tool-server/src/connection/transports/stdio-transport.test.ts",
    "ends everything that a child started",
  ],
  33: ["packages/tool-server/src/connection/transports/stdio-transport.test.ts", "says which PATH was searched"],
  34: [
    "packages/tool-server/src/connection/transports/stdio-transport.test.ts",
    "reports the exit code and the last lines of standard error",
  ],
  35: ["packages/tool-server/src/http/connect-socket.test.ts", "tunnels every connection with CONNECT"],
};

test.each(Object.entries(elsewhere))("(%s) names a test that exists elsewhere", (_, [file, title]) => {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  expect(readFileSync(path, "utf8")).toContain(`test("${title}`);
});
