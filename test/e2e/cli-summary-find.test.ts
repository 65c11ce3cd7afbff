import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ChannelzListener, createRegistry, listenChannelz } from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Run, runCommand } from "./command.test.helper.js";

const certificateFile = fileURLToPath(new URL("../certificates/server.pem", import.meta.url));
const certificate = new X509Certificate(readFileSync(certificateFile));
const held: unknown[] = [];
const listeners: ChannelzListener[] = [];
let target = "";
/** Nothing listens there. */
const dead = "127.0.0.1:1";

beforeAll(async () => {
  const registry = createRegistry();
  for (let n = 0; n < 3; n += 1) {
    const channel = registry.addChannel({ target: "dns:///stock.example:443", name: `stock ${n}` });
    const subchannel = registry.addSubchannel({ parent: channel, target: "10.9.8.7:443" });
    for (const each of [channel, subchannel]) each.setState("CONNECTING");
    subchannel.setState("TRANSIENT_FAILURE", "connect ECONNREFUSED 10.9.8.7:443");
    channel.setState("TRANSIENT_FAILURE");
    channel.callStarted();
    channel.callFailed();
    held.push(channel, subchannel);
  }
  const ready = registry.addChannel({ target: "dns:///mail.example:443", name: "mail" });
  ready.setState("CONNECTING");
  ready.setState("READY");
  ready.callStarted();
  const server = registry.addServer({ name: "web" });
  server.callStarted();
  server.callSucceeded();
  const socket = registry.addSocket({
    server,
    local: { ip: "127.0.0.1", port: 8443 },
    remote: { ip: "192.0.2.55", port: 40_123 },
    subject: held,
    describe: () => ({
      security: { tls: { standardName: "TLS_AES_256_GCM_SHA384", localCertificate: certificate.raw } },
    }),
  });
  socket.messageReceived();
  held.push(ready, server, socket);
  listeners.push(await listenChannelz(registry));
  target = listeners[0]?.address ?? "";
});

afterAll(async () => {
  for (const listener of listeners) await listener.close();
});

function wirescope(...argv: string[]): Promise<Run> {
  return runCommand([...argv, "--target", target]);
}

describe("summary", () => {
  test("[CZ-D-CLI-9] shows counts by state, traffic, failures with reasons, and the oldest problem", async () => {
    const { code, stdout, stderr } = await wirescope("summary");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/channels +4: 3 TRANSIENT_FAILURE, 1 READY/);
    expect(stdout).toMatch(/calls out +4 started, 0 succeeded, 3 failed, 1 in progress/);
    expect(stdout).toMatch(/calls in +1 started, 1 succeeded, 0 failed, 0 in progress/);
    expect(stdout).toMatch(/messages +0 sent, 1 received/);
    expect(stdout).toContain("3 channels fail");
    expect(stdout).toMatch(/\d+ m?s +3 +dns:\/\/\/stock\.example:443 +connect ECONNREFUSED 10\.9\.8\.7:443/);
    expect(stdout).toMatch(/oldest problem +dns:\/\/\/stock\.example:443, .*\d{4}-\d\d-\d\dT/);
    expect(stdout).not.toContain("certificates");
  });

  test("[CZ-D-CLI-9] reports certificates that expire within the given days", async () => {
    const { stdout } = await wirescope("summary", "--expires-within", "90000");
    expect(stdout).toMatch(/CN=Wirescope test server \(own, socket \d+\): expires in \d+ d \(/);
    const json = JSON.parse((await wirescope("summary", "--json", "--expires-within", "90000")).stdout);
    expect(json).toMatchObject({
      counts: { channel: 4, subchannel: 3, server: 1, socket: 1 },
      failures: [{ reason: "connect ECONNREFUSED 10.9.8.7:443", channels: [{}, {}, {}] }],
      certificates: [{ side: "local", expiry: new Date(certificate.validTo).toISOString() }],
      silent: [],
    });
    expect((await wirescope("summary", "--expires-within", "soon")).code).toBe(2);
  });

  test("fits on a terminal of 80 columns and 24 lines", async () => {
    const { stdout } = await runCommand(["summary", "--no-color", "--target", target], { columns: 80, rows: 24 });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThan(24);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("[CZ-D-CLI-3] names targets that do not respond", async () => {
    const { code, stdout, stderr } = await wirescope("summary", "--target", `dead=${dead}`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^2 targets, 1 respond\n/);
    expect(stdout).toMatch(/targets that do not respond\n .*cannot be reached/);
    expect(stderr).toMatch(/^wirescope: 1 of 2 targets did not respond\./);
  });
});

describe("find", () => {
  const found = async (text: string): Promise<string[]> => {
    const { code, stdout, stderr } = await wirescope("find", text);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout.trimEnd().split("\n").slice(1);
  };

  test.each([
    ["STOCK 1", /^channel \d+ +name +stock 1 /, 1],
    ["mail.example", /^channel \d+ +target +dns:\/\/\/mail\.example:443 +mail$/, 1],
    ["192.0.2.55", /^socket \d+ +remote address +192\.0\.2\.55:40123 /, 1],
    [
      "econnrefused 10.9",
      /^subchannel \d+ +trace +CONNECTING -> TRANSIENT_FAILURE: connect ECONNREFUSED 10\.9\.8\.7:443/,
      3,
    ],
    ["CN=Wirescope test server", /^socket \d+ +local certificate subject +O=Test only, CN=Wirescope test server/, 1],
    [certificate.serialNumber, /local certificate serial/, 1],
    [certificate.fingerprint256.replaceAll(":", "").toLowerCase(), /local certificate fingerprint/, 1],
    [certificateFile, /local certificate fingerprint/, 1],
  ])("[CZ-D-CLI-10] finds the objects that mention %s", async (text, line, count) => {
    const lines = await found(text);
    expect(lines).toHaveLength(count);
    expect(lines.join("\n")).toMatch(new RegExp(line.source, "m"));
  });

  test.each([
    ["does not exist", "./missing.pem", undefined, "the file does not exist."],
    ["contains no certificate", "key.PEM", "not a certificate", "it contains no certificate in PEM or DER format."],
    [
      "is too large",
      "bundle.crt",
      "-".repeat(100_001),
      "it is larger than 100 kB. Save the certificate as a file of its own.",
    ],
  ])("refuses a certificate file that %s", async (_, name, content, reason) => {
    const folder = mkdtempSync(join(tmpdir(), "wirescope-find-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, name);
    if (content !== undefined) writeFileSync(file, content);
    const { code, stdout, stderr } = await wirescope("find", file);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`Cannot read the certificate file ${file}: ${reason}`);
    expect(stderr).toContain("To search for text, omit the suffix.");
  });

  test("names the targets of the objects, and continues if one does not respond", async () => {
    const { code, stdout } = await wirescope("find", "mail", "--json", "--target", `dead=${dead}`);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject([
      { origin: target, kind: "channel", field: "name", text: "mail" },
      { origin: target, kind: "channel", field: "target" },
    ]);
  });

  test("exits with 1 and one message if nothing mentions it", async () => {
    const { code, stdout, stderr } = await wirescope("find", "nothing like \u001b[2J this");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`wirescope: Nothing at ${target} mentions "nothing like \\x1b[2J this".\n`);
  });
});
