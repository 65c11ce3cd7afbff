import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, type Run, runCommand } from "./command.test.helper.js";
import { type GuardedServer, startGuardedServer } from "./hostile-servers.test.helper.js";
import { expectNothingLeft, temporaryFolder } from "./tool-server-world.test.helper.js";

expectNothingLeft();

const token = "right-token-4711";

/** Pings the server `api` of this entry. */
function ping(entry: object, env: Record<string, string>, ...more: readonly string[]): Promise<Run> {
  const { home, configure } = createUserFolder();
  const args = ["ping", "api", "--trust", "--allow-insecure-loopback", "--config", configure({ api: entry }), ...more];
  return runCommand(args, { env: { PATH: process.env.PATH, HOME: home, ...env } });
}

const bearer = ({ url }: GuardedServer): object => ({
  type: "http",
  url,
  headers: { Authorization: "Bearer ${API_TOKEN}" },
});

const start = (): Promise<GuardedServer> =>
  startGuardedServer(({ authorization }) => authorization === `Bearer ${token}`);

test("[TS-DIAG-2] tests an endpoint with an Authorization header: it returns 200, and wirescope ping succeeds", async () => {
  const server = await start();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const byHand = (authorization: string): Promise<Response> =>
    fetch(server.url, { method: "POST", body, headers: { authorization, "content-type": "application/json" } });
  expect((await byHand(`Bearer ${token}`)).status).toBe(200);
  expect((await byHand("Bearer another")).status).toBe(401);

  const { code, stdout } = await ping(bearer(server), { API_TOKEN: token });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^SERVER +PING +CONNECT +PROTOCOL +SOFTWARE\napi +[\d.]+ ms +[\d.]+ ms +2025-06-18 +hostile 1\n$/,
  );
});

test("[TS-DIAG-2] says in wirescope ping what to check if a header is refused", async () => {
  const server = await start();
  const { code, stderr } = await ping(bearer(server), { API_TOKEN: "another-token-0815" });
  expect(code).toBe(1);
  expect(stderr).toMatch(/refused the request\..*401.*API_TOKEN/);
  expect(stderr).not.toContain("another-token-0815");
});

test("[TS-DIAG-1] shows the headers without their values, the helper runs, the retry and the error with --debug", async () => {
  const server = await start();
  const folder = temporaryFolder();
  const helper = join(folder, "helper.sh");
  writeFileSync(
    helper,
    `#!/bin/sh\necho '{"Authorization": "Bearer wrong-token-1234", "X-Signature": "s1gnature-99"}'\n`,
  );
  chmodSync(helper, 0o755);
  const entry = { type: "http", url: server.url, headers: { "X-API-Key": "${API_KEY}" }, headersHelper: helper };
  const { code, stderr } = await ping(entry, { API_KEY: "k3y-of-the-test" }, "--debug");
  expect(code).toBe(1);
  const lines = stderr.split("\n").map((line) => line.replace(/^ *[\d.]+s /, ""));
  expect(lines).toContain(`api: http ${server.url}; auth: headers helper (${helper})`);
  expect(lines).toContain("api: sends X-API-Key: [redacted] (API_KEY)");
  expect(lines).toContain(
    "api: sends X-API-Key: [redacted] (API_KEY); Authorization: Bearer [redacted] (helper); X-Signature: [redacted] (helper)",
  );
  expect(stderr).toMatch(/Ran the helper( in the sandbox)? to obtain headers: exit code 0 after/);
  expect(stderr).toMatch(/The server returned 401; retrying/);
  expect(stderr).toMatch(/Ran the helper again( in the sandbox)? because the server rejected its headers/);
  expect(stderr).toMatch(/failed: The server "api" refused the request/);
  expect(stderr).not.toMatch(/wrong-token|s1gnature|k3y-of/);
});
