import { execFileSync, spawn } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { createCertificate, type TestCertificate } from "./certificate.test.helper.js";
import { createConnections } from "./connections.js";
import { completeLimits } from "./limits.js";
import { listenChannelz } from "./listen.js";
import type { ListenTls, TlsChange } from "./listen-tls.js";
import { eventually, portOf } from "./raw-caller.test.helper.js";
import { createTlsFront } from "./tls-front.js";

const first = createCertificate("first");
const second = createCertificate("second", 2044);

let folder: string;
let certFile: string;
let keyFile: string;
let tls: ListenTls;
let changes: TlsChange[];
const endings: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-tls-"));
  certFile = join(folder, "cert.pem");
  keyFile = join(folder, "key.pem");
  changes = [];
  tls = { cert: { file: certFile }, key: { file: keyFile }, onChange: (change) => changes.push(change) };
});
afterEach(() => {
  for (const end of endings.splice(0)) end();
  rmSync(folder, { recursive: true, force: true });
});

const write = ({ cert, key }: TestCertificate): void => {
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
};

/** Starts a TLS echo server, and returns its port. */
async function startEcho(given: ListenTls = tls, reportAfterMs = 60): Promise<number> {
  const limits = completeLimits();
  const connections = createConnections(limits);
  const closing = new AbortController();
  const pace = { recheckMs: 10, reportAfterMs };
  const echo = createTlsFront(given, limits, connections, ({ socket }) => socket.pipe(socket), closing.signal, pace);
  const server = createServer((socket) => {
    const connection = connections.admit(socket);
    if (connection !== undefined) echo(connection);
  });
  endings.push(() => {
    closing.abort();
    server.close();
    void connections.drain(0);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Connects and waits for an echo, because only then the client certificate has been checked too. */
async function call(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"], ...options });
  endings.push(() => socket.destroy());
  await echoed(socket);
  return socket;
}

async function echoed(socket: TLSSocket): Promise<void> {
  const response = once(socket, "data");
  const ended = once(socket, "close").then(() => Promise.reject(new Error("It was closed.")));
  socket.write("hello");
  await Promise.race([response, ended]);
}

const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN);

async function nameAt(port: number): Promise<string> {
  const socket = await call(port);
  const name = nameOf(socket);
  socket.destroy();
  return name;
}

async function eventuallyNamed(port: number, name: string): Promise<void> {
  await eventually(async () => (await nameAt(port)) === name);
}

const unusable = (): TlsChange[] => changes.filter(({ isUsable }) => !isUsable);

test("[CZ-D-LISTEN-6] uses a renewed certificate for new handshakes, and keeps existing connections open", async () => {
  write(first);
  const port = await startEcho();
  const before = await call(port);
  expect(nameOf(before)).toBe("first");
  write(second);
  await eventuallyNamed(port, "second");
  await echoed(before);
  expect(nameOf(before)).toBe("first");
  expect(changes).toEqual([
    {
      isUsable: true,
      files: [certFile, keyFile],
      message: `The certificate in "${certFile}" and "${keyFile}" is now in use. It is valid until 2044-01-01T00:00:00.000Z.`,
    },
  ]);
});

describe("[CZ-D-LISTEN-6] certificate files behind links", () => {
  test("follows links that certbot changes one by one", async () => {
    mkdirSync(join(folder, "archive"));
    for (const [index, { cert, key }] of [first, second].entries()) {
      writeFileSync(join(folder, `archive/cert${index}.pem`), cert);
      writeFileSync(join(folder, `archive/key${index}.pem`), key);
    }
    const link = (index: number): void => {
      for (const name of ["cert", "key"]) {
        rmSync(join(folder, `${name}.pem`), { force: true });
        symlinkSync(`archive/${name}${index}.pem`, join(folder, `${name}.pem`));
      }
    };
    link(0);
    const port = await startEcho(tls, 60_000);
    expect(await nameAt(port)).toBe("first");
    link(1);
    await eventuallyNamed(port, "second");
    expect(unusable()).toEqual([]);
  });

  test("follows links whose folder Kubernetes replaces", async () => {
    for (const [index, { cert, key }] of [first, second].entries()) {
      mkdirSync(join(folder, `..${index}`));
      writeFileSync(join(folder, `..${index}/cert.pem`), cert);
      writeFileSync(join(folder, `..${index}/key.pem`), key);
    }
    symlinkSync("..0", join(folder, "..data"));
    symlinkSync("..data/cert.pem", certFile);
    symlinkSync("..data/key.pem", keyFile);
    const port = await startEcho(tls, 60_000);
    expect(await nameAt(port)).toBe("first");
    symlinkSync("..1", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    await eventuallyNamed(port, "second");
    expect(unusable()).toEqual([]);
  });
});

describe("[CZ-D-LISTEN-7] unusable certificate files", () => {
  const replaceByFolder = (): void => {
    unlinkSync(keyFile);
    mkdirSync(keyFile);
  };
  const half = (text: string): string => text.slice(0, text.length / 2);
  test.each<[string, () => void, RegExp]>([
    [
      "a certificate with another's key",
      () => writeFileSync(certFile, second.cert),
      /key\.pem" does not belong to the/,
    ],
    ["a key of another certificate", () => writeFileSync(keyFile, second.key), /key\.pem" does not belong to the/],
    ["an empty certificate", () => writeFileSync(certFile, ""), /The certificate file ".*cert\.pem" is empty\./],
    ["an empty key", () => writeFileSync(keyFile, ""), /The private key file ".*key\.pem" is empty\./],
    ["half a certificate", () => writeFileSync(certFile, half(second.cert)), /cert\.pem" is truncated\./],
    ["half a key", () => writeFileSync(keyFile, half(second.key)), /key\.pem" is truncated\./],
    ["half a chain", () => writeFileSync(certFile, first.cert + half(second.cert)), /cert\.pem" is truncated\./],
    ["words", () => writeFileSync(certFile, "not found"), /cert\.pem" contains no certificate\./],
    ["a key that is none", () => writeFileSync(keyFile, second.cert), /key\.pem" contains no usable private key/],
    [
      "a certificate that is gone",
      () => unlinkSync(certFile),
      /cert\.pem" cannot be read: it does not exist \(ENOENT\)\. Create it/,
    ],
    ["a folder in its place", replaceByFolder, /cannot be read: not a regular file\./],
  ])("keeps the previous certificate and reports the problem once: %s", async (_, harm, reason) => {
    write(first);
    const port = await startEcho();
    harm();
    await eventually(() => changes.length > 0);
    expect(changes).toEqual([{ isUsable: false, files: [certFile, keyFile], message: expect.stringMatching(reason) }]);
    expect(changes[0]?.message).toContain("Until then the previous certificate is used. It is valid until 2056");
    expect(await nameAt(port)).toBe("first");
    rmSync(keyFile, { recursive: true, force: true });
    write(second);
    await eventuallyNamed(port, "second");
    expect(unusable()).toHaveLength(1);
    expect(changes.at(-1)).toMatchObject({ isUsable: true });
  });

  test("emits a process warning by default if the files are unusable", async () => {
    write(first);
    const port = await startEcho({ cert: { file: certFile }, key: { file: keyFile } });
    const warned = once(process, "warning");
    writeFileSync(certFile, "");
    expect((await warned)[0]).toMatchObject({ name: "ChannelzWarning", code: "TLS_FILES_UNUSABLE" });
    expect(await nameAt(port)).toBe("first");
  });

  test("ignores an exception of the onChange callback", async () => {
    write(first);
    const onChange = vi.fn(() => {
      throw new Error("deaf");
    });
    const port = await startEcho({ ...tls, onChange });
    writeFileSync(certFile, "");
    await eventually(() => onChange.mock.calls.length > 0);
    write(second);
    await eventuallyNamed(port, "second");
  });
});

describe("client CA files", () => {
  const old = createCertificate("old caller");
  const young = createCertificate("young caller");
  const isLetIn = (port: number, options: ConnectionOptions): Promise<boolean> =>
    call(port, options).then(
      (socket) => {
        socket.destroy();
        return true;
      },
      () => false,
    );

  test("[CZ-D-LISTEN-6] [CZ-D-ACCESS-6] uses a changed CA file, for resumed sessions too", async () => {
    const caFile = join(folder, "ca.pem");
    write(first);
    writeFileSync(caFile, old.cert);
    const port = await startEcho({ ...tls, ca: { file: caFile } });
    const session = (await call(port, old)).getSession();
    const resumed = await call(port, { ...old, ...(session && { session }) });
    expect(resumed.isSessionReused()).toBe(true);
    expect(await isLetIn(port, young)).toBe(false);
    // Also while the certificate and key are unusable.
    unlinkSync(keyFile);
    writeFileSync(caFile, young.cert);
    await eventually(() => isLetIn(port, young));
    expect(await isLetIn(port, old)).toBe(false);
    expect(await isLetIn(port, { ...old, ...(session && { session }) })).toBe(false);
    expect(changes.filter(({ isUsable }) => isUsable)).toMatchObject([{ files: [caFile] }]);
  });

  test.each([
    ["that is empty", "", /ca\.pem" is empty/],
    ["of words", "nobody", /ca\.pem" contains no certificate/],
    ["that is truncated", `${young.cert}${old.cert.slice(0, 100)}`, /ca\.pem" is truncated/],
  ])("[CZ-D-LISTEN-7] keeps the previous CAs after a change to a file %s", async (_, text, reason) => {
    const caFile = join(folder, "ca.pem");
    write(first);
    writeFileSync(caFile, old.cert);
    const port = await startEcho({ ...tls, ca: [{ file: caFile }] });
    writeFileSync(caFile, text);
    await eventually(() => changes.length > 0);
    expect(changes).toMatchObject([{ isUsable: false, message: expect.stringMatching(reason) }]);
    expect(await isLetIn(port, old)).toBe(true);
    expect(await isLetIn(port, young)).toBe(false);
  });
});

describe("certificates at start", () => {
  test.each<[string, () => void, RegExp]>([
    [
      "that is not there",
      () => unlinkSync(keyFile),
      /^The private key file ".*" cannot be read: it does not exist \(ENOENT\)\. Create/,
    ],
    ["that is empty", () => writeFileSync(certFile, ""), /^The certificate file ".*" is empty\. Write the certificate/],
    ["with a key of another", () => writeFileSync(keyFile, second.key), /does not belong to the certificate file/],
  ])("refuses a file %s", async (_, harm, message) => {
    write(first);
    harm();
    const refused = listenChannelz(createRegistry(), { tls });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toMatchObject({ code: "LISTEN_FAILED" });
  });

  test.each<[string, Partial<ListenTls>, RegExp]>([
    ["a key of another", { key: second.key }, /^The given private key does not belong to the given certificate/],
    // Node would trust its default CAs instead.
    ["empty CAs", { ca: "" }, /^The given client CA is empty\./],
    ["CAs that are not certificates", { ca: Buffer.from("x") }, /contains no certificate/],
    ["an empty list of CAs", { ca: [] }, /tls\.ca is an empty list/],
  ])("refuses %s, given as contents", async (_, given, message) => {
    await expect(listenChannelz(createRegistry(), { tls: { ...first, ...given } })).rejects.toThrow(message);
  });

  test.each(["pkcs8", "sec1"] as const)("requires the passphrase of an encrypted key (%s)", async (type) => {
    write(first);
    const encrypted = createPrivateKey(first.key).export({
      type,
      format: "pem",
      cipher: "aes-256-cbc",
      passphrase: "sesame-open",
    });
    writeFileSync(keyFile, encrypted);
    expect(await nameAt(await startEcho({ ...tls, passphrase: "sesame-open" }))).toBe("first");
    await expect(startEcho(tls)).rejects.toThrow(
      /key\.pem" is encrypted, and passphrase is not set\. Set passphrase, or /,
    );
    const wrong = startEcho({ ...tls, passphrase: "sesame-shut" });
    await expect(wrong).rejects.toThrow(/or the passphrase is wrong/);
    await expect(wrong).rejects.not.toThrow(/sesame/);
  });

  test.skipIf(process.platform === "win32")("reads a pipe once, and not again", async () => {
    write(first);
    const pipe = join(folder, "pipe");
    execFileSync("sh", ["-c", 'mkfifo "$0"', pipe]);
    const writer = spawn("cp", [keyFile, pipe]);
    const ended = once(writer, "exit");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const port = await startEcho({ ...tls, key: { file: pipe } });
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await ended;
    expect(await nameAt(port)).toBe("first");
  });
});

test("[CZ-D-LISTEN-6] follows the files of a listener without a call", async () => {
  write(first);
  const listener = await listenChannelz(createRegistry(), { tls });
  const { port } = portOf(listener.address);
  const nameNow = async (): Promise<string> => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    const name = nameOf(socket);
    socket.destroy();
    return name;
  };
  expect(await nameNow()).toBe("first");
  write(second);
  await eventually(async () => (await nameNow()) === "second");
  await listener.close();
});

test("follows no files after a listener was closed or could not start", async () => {
  write(first);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  endings.push(() => vi.useRealTimers());
  const listener = await listenChannelz(createRegistry(), { tls });
  const whileOpen = vi.getTimerCount();
  const taken = listenChannelz(createRegistry(), { tls, port: portOf(listener.address).port });
  await expect(taken).rejects.toMatchObject({ code: "LISTEN_FAILED" });
  expect(vi.getTimerCount()).toBe(whileOpen);
  await listener.close();
  expect(vi.getTimerCount()).toBe(0);
});
