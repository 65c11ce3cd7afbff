import { Writable } from "node:stream";
import type { GatewayEvent } from "@wirescope/gateway";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import type { Io } from "../io.js";
import { createEventLog, logCertificateChanges } from "./event-log.js";

function createLog(form: "pretty" | "json", isTTY = true) {
  let text = "";
  const stderr = {
    write: (more: string): void => {
      text += more;
    },
    isTTY,
  };
  const log = createEventLog({ stdout: stderr, stderr, env: {}, now: () => new Date(0) }, form);
  return { log, lines: (): string[] => text.split("\n").filter((line) => line !== "") };
}

const failed = (server: string, reason: string) =>
  ({ kind: "server-state", server, state: "TRANSIENT_FAILURE", reason }) as const;
const connecting = (server: string) =>
  ({ kind: "server-state", server, state: "CONNECTING", reason: undefined }) as const;
const ready = (server: string) => ({ kind: "server-state", server, state: "READY", reason: undefined }) as const;
const omitted = (server: string, list: string, reason: string) => ({ kind: "omitted", server, list, reason }) as const;

test("[TS-D-LOG-2] writes the date in a readable log that goes to a file or a pipe, and not at a terminal", async () => {
  for (const [isTTY, line] of [
    [true, "00:00:00.000 a: connecting"],
    [false, "1970-01-01T00:00:00.000Z a: connecting"],
  ] as const) {
    const { log, lines } = createLog("pretty", isTTY);
    log(connecting("a"));
    await expect.poll(lines).toEqual([line]);
  }
});

test("[TS-D-LOG-1] logs the reason of a failing server once, until it changes or the server was connected", async () => {
  const { log, lines } = createLog("pretty");
  for (let attempt = 0; attempt < 3; attempt += 1) {
    for (const server of ["a", "b"]) {
      log(connecting(server));
      log(failed(server, `${server} is down.`));
      log(omitted(server, "tools/list", `${server} is down.`));
      log(omitted(server, "prompts/list", `${server} is down.`));
    }
  }
  log(failed("a", "a is busy."));
  log(omitted("c", "tools/list", "no response in 5 s; it will be added once it responds."));
  log(ready("a"));
  log(failed("a", "a is busy."));
  await expect
    .poll(lines)
    .toEqual([
      "00:00:00.000 a: connecting",
      "00:00:00.000 a: failed: a is down.",
      "00:00:00.000 b: connecting",
      "00:00:00.000 b: failed: b is down.",
      "00:00:00.000 a: failed: a is busy.",
      "00:00:00.000 c omitted from tools/list: no response in 5 s; it will be added once it responds.",
      "00:00:00.000 a: connected",
      "00:00:00.000 a: failed: a is busy.",
    ]);
});

test("[TS-D-LOG-1] logs a server that cannot be started once, however often its tools are requested", async () => {
  const { log, lines } = createLog("json");
  const gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: { gone: { command: "/nowhere/at-all" } } })),
        variables: {},
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
      },
    ],
    secrets: createSecretRegistry(),
    onEvent: log,
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const headers = {
    authorization: `Bearer ${gateway.token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const initialize = {
    ...list,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
  const post = (body: object, more = {}) =>
    fetch(gateway.endpoint ?? "", { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const session = (await post(initialize)).headers.get("mcp-session-id") ?? "";
  for (let time = 0; time < 5; time += 1) {
    const response = await post(list, { "mcp-session-id": session });
    expect({ status: response.status, body: await response.text() }).toEqual({
      status: 200,
      body: expect.stringContaining('"tools":[]'),
    });
  }
  const reported = () => lines().filter((line) => line.includes("/nowhere/at-all"));
  await expect.poll(reported).toEqual([expect.stringContaining('"state":"TRANSIENT_FAILURE"')]);
});

test("[TS-D-LOG-1] logs a server that exits at each start once, although its process id and output differ each time", async () => {
  const { log, lines } = createLog("json");
  const program = 'console.error(new Date().toISOString(), process.pid, "no database"); process.exit(3)';
  const servers = { crashing: { command: process.execPath, args: ["-e", program] } };
  const reasons: string[] = [];
  const gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: servers })),
        variables: {},
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
      },
    ],
    secrets: createSecretRegistry(),
    onEvent(event) {
      if (event.kind === "server-state" && event.state === "TRANSIENT_FAILURE") reasons.push(event.reason ?? "");
      log(event);
    },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  await expect.poll(() => new Set(reasons).size).toBeGreaterThan(2);
  log(ready("other"));
  await expect.poll(() => lines().some((line) => line.includes('"other"'))).toBe(true);
  const [line = "{}", ...more] = lines().filter((each) => each.includes("no database"));
  expect(more).toEqual([]);
  expect(Object.keys(JSON.parse(line))).toEqual(["time", "kind", "server", "state", "reason"]);
  // Another exit is another reason.
  log(failed("crashing", "It was killed."));
  await expect.poll(() => lines().at(-1)).toContain("It was killed.");
});

const tls = { cert: { file: "/cert" }, key: { file: "/key" } };

/** Reports usable, unusable and expiring certificates, and returns what is logged and written to standard error. */
function changeCertificates(hasLog: boolean): { logged: GatewayEvent[]; written: string } {
  const output = { logged: [] as GatewayEvent[], written: "" };
  const write = (text: string): void => {
    output.written += text;
  };
  const io = { stderr: { write } } as unknown as Io;
  const listen = logCertificateChanges({ tls }, io, hasLog ? (event) => output.logged.push(event) : undefined);
  expect(listen.tls).toMatchObject(tls);
  listen.tls?.onChange?.({ isUsable: true, files: ["/cert", "/key"], message: "It is in use." });
  listen.tls?.onChange?.({ isUsable: false, files: ["/cert", "/key"], message: "It is \u001b[2Jempty." });
  listen.tls?.onExpiring?.({ isExpired: false, validUntil: new Date(), message: "It expires soon." });
  return output;
}

test("logs certificates that are in use, that cannot be used and that expire", () => {
  expect(changeCertificates(true)).toEqual({
    logged: [
      { kind: "certificates", files: ["/cert", "/key"], reason: "It is in use." },
      { kind: "defect", reason: "It is \u001b[2Jempty." },
      { kind: "defect", reason: "It expires soon." },
    ],
    written: "",
  });
});

test("reports unusable and expiring certificates on standard error if there is no log", () => {
  const { logged, written } = changeCertificates(false);
  expect(logged).toEqual([]);
  expect(written).toMatch(/^wirescope: It is .*empty\.\nwirescope: It expires soon\.\n$/);
  expect(written).not.toContain("\u001b");
});

test("watches no certificates without TLS", () => {
  const listen = { port: 1 };
  expect(logCertificateChanges(listen, {} as Io, undefined)).toBe(listen);
});

test("drops lines while standard error is not read, so that memory stays bounded, and then logs how many", async () => {
  const reads: (() => void)[] = [];
  let text = "";
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      reads.push(done);
    },
  });
  const log = createEventLog({ stdout: stderr, stderr, env: {}, now: () => new Date(0) }, "json");
  const reason = "x".repeat(1024 * 1024);
  for (let count = 0; count < 20; count += 1) {
    log({ kind: "defect", reason });
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(stderr.writableLength).toBeLessThan(10 * 1024 * 1024);
  await expect
    .poll(() => {
      for (const done of reads.splice(0)) done();
      return stderr.writableLength;
    })
    .toBe(0);
  log(ready("a"));
  await expect
    .poll(() => text)
    .toMatch(/"reason":"12 lines of the log were dropped[^\n]*\n[^\n]*"server":"a"[^\n]*\n$/);
});
