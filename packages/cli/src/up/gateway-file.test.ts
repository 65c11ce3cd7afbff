import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { announceGateway, findGateway, gatewayFile } from "./gateway-file.js";

let home: string;
const running = {
  pid: process.pid,
  endpoint: "http://127.0.0.1:1/mcp",
  channelz: "127.0.0.1:1",
  token: "secret-token",
  configurations: ["/plugin/.mcp.json"],
  profile: "development",
};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "wirescope-gateway-"));
});

afterEach(() => rmSync(home, { recursive: true }));

test("a gateway is found while it runs, by its own user alone", () => {
  const env = { HOME: home };
  expect(findGateway(env)).toBeUndefined();
  const takeBack = announceGateway(env, running);
  expect(findGateway(env)).toEqual(running);
  expect(statSync(gatewayFile(env)).mode & 0o777).toBe(0o600);
  takeBack();
  expect(findGateway(env)).toBeUndefined();
});

test("word of one that is no more counts for nothing, and a newer one's is left alone", () => {
  const env = { HOME: home };
  const takeBack = announceGateway(env, { ...running, pid: 2 ** 22 + 1 });
  expect(findGateway(env)).toBeUndefined();
  announceGateway(env, running);
  takeBack();
  expect(findGateway(env)).toEqual(running);
});

test("of two gateways the last is found, and the first again once the last has ended", () => {
  const env = { HOME: home };
  const first = { ...running, pid: process.ppid, channelz: "127.0.0.1:2" };
  const takeFirstBack = announceGateway(env, first);
  const takeBack = announceGateway(env, running);
  expect(findGateway(env)).toEqual(running);
  takeBack();
  expect(findGateway(env)).toEqual(first);
  expect(statSync(gatewayFile(env)).mode & 0o777).toBe(0o600);
  takeFirstBack();
  expect(findGateway(env)).toBeUndefined();
});

test("what is no word of a gateway is passed over", () => {
  const env = { XDG_RUNTIME_DIR: home };
  announceGateway(env, running);
  for (const text of ["", "{", "[]", '{"pid": "1"}']) {
    writeFileSync(gatewayFile(env), text);
    expect(findGateway(env)).toBeUndefined();
  }
  expect(readFileSync(gatewayFile(env), "utf8")).toBe('{"pid": "1"}');
});
