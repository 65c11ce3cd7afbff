import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { createUserFolder, startCommand } from "./command.test.helper.js";
import type { RunningProcess } from "./running-process.test.helper.js";

const certificate = (name: string): string => fileURLToPath(new URL(`../certificates/${name}.pem`, import.meta.url));
const pollOptions = { timeout: 60_000, interval: 50 };
let folder: string;

beforeEach(() => {
  const user = createUserFolder();
  folder = user.folder;
  user.configure({});
});

function up(...argv: string[]): RunningProcess {
  const tls = ["--cert", "cert.pem", "--key", "key.pem"];
  const env = { HOME: join(folder, "home"), PATH: process.env.PATH };
  return startCommand(["up", "--port", "0", "--json", ...tls, ...argv], { cwd: folder, env });
}

/** Puts the files of one of the tests' certificates in place. */
function install(name: string): void {
  copyFileSync(certificate(name), join(folder, "cert.pem"));
  copyFileSync(certificate(`${name}-key`), join(folder, "key.pem"));
}

async function fingerprintAt(url: URL): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: Number(url.port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

test("[CZ-D-LISTEN-6] uses a renewed certificate without a restart, and logs it", async () => {
  install("server");
  const gateway = up("--log", "json");
  await expect.poll(() => gateway.stdout, pollOptions).toContain("\n");
  const url = new URL(JSON.parse(gateway.stdout).endpoint);
  const fingerprints = ["server", "client"].map(
    (name) => new X509Certificate(readFileSync(certificate(name))).fingerprint256,
  );
  expect(await fingerprintAt(url)).toBe(fingerprints[0]);
  install("client");
  await expect.poll(() => fingerprintAt(url), pollOptions).toBe(fingerprints[1]);
  await expect.poll(() => gateway.stderr, pollOptions).toContain('"kind":"certificates"');
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
});

test("rejects a key of another certificate at start, without the advice to use another port", async () => {
  install("server");
  copyFileSync(certificate("client-key"), join(folder, "key.pem"));
  const gateway = up();
  expect(await gateway.ended).toBe(2);
  const { reason } = JSON.parse(gateway.stderr);
  expect(reason).toContain(`The private key file "${join(folder, "key.pem")}" does not belong to`);
  expect(reason).not.toContain("--port");
});

test("advises --ca to a command that does not trust the gateway's certificate, and the option works", async () => {
  install("server");
  const gateway = up();
  await expect.poll(() => gateway.stdout, pollOptions).toContain("\n");
  const env = { HOME: join(folder, "home"), PATH: process.env.PATH };
  const auth = async (...argv: string[]): Promise<RunningProcess> => {
    const run = startCommand(["auth", "--endpoint", ...argv], { cwd: folder, env });
    await run.ended;
    return run;
  };
  const distrusting = await auth();
  expect(distrusting.stderr).toContain("Pass the CA certificate with --ca <file>.");
  expect(distrusting.stderr).not.toContain("Start it again");
  expect((await auth("--ca", certificate("ca"))).stdout).toContain("Sign-ins of the gateway at https://");
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
});
