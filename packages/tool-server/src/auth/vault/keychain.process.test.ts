import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { chooseVault } from "./choose-vault.js";
import { systemKeychain } from "./keychain.js";
import { temporaryFolder } from "./temporary-folder.test.helper.js";
import { writeEntry } from "./vault.js";
import { describeVaultContract, keyOf } from "./vault-contract.test.helper.js";

const sessionProgram: string = "dbus-run-session";
const missing = [sessionProgram, "gnome-keyring-daemon"].filter((program) => !isInstalled(program));
if (missing.length > 0) {
  console.warn(
    `The keychain is not tested here: ${missing.join(" and ")} is not installed (Debian: dbus gnome-keyring).`,
  );
}

function isInstalled(program: string): boolean {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

// A bus that activates no services: otherwise an early request would start a second, locked keyring.
const busConfiguration = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>`;

/** Starts an unlocked Secret Service on its own bus, which stores its data in `home`. Resolves with a function that stops it. */
async function startSecretService(home: string): Promise<() => Promise<void>> {
  const configuration = join(home, "bus.conf");
  await writeFile(configuration, busConfiguration);
  const script = `echo "$DBUS_SESSION_BUS_ADDRESS"; echo "$$"; exec gnome-keyring-daemon --foreground --unlock --components=secrets`;
  const session = spawn(sessionProgram, [`--config-file=${configuration}`, "--", "/bin/sh", "-c", script], {
    env: { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_RUNTIME_DIR: home, XDG_CACHE_HOME: home },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(session, "exit");
  session.stdin.end("a password");
  const lines = createInterface({ input: session.stdout })[Symbol.asyncIterator]();
  process.env.DBUS_SESSION_BUS_ADDRESS = (await lines.next()).value;
  const pid = Number((await lines.next()).value);
  return async () => {
    process.kill(pid, "SIGTERM");
    await ended;
  };
}

describe.skipIf(missing.length > 0)("with a real Secret Service", () => {
  let home = "";
  let stop = async (): Promise<void> => {};

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "wirescope-keyring-"));
    stop = await startSecretService(home);
    await vi.waitFor(() => systemKeychain().read("ready"), { timeout: 60_000, interval: 20 });
  });

  afterAll(async () => {
    await stop();
    await rm(home, { recursive: true, force: true });
  });

  describeVaultContract("the keychain of the system", async () => ({
    vault: await chooseVault({ kind: "keychain", directory: await temporaryFolder() }),
    secrets: [],
  }));

  test("[TS-D-STORE-1] the keychain is chosen automatically, and stored values can be read again", async () => {
    const directory = await temporaryFolder();
    const vault = await chooseVault({ directory });
    expect(vault.kind).toBe("keychain");
    await writeEntry(vault, keyOf(), { token: "1" });
    await vault.dispose();
    expect((await (await chooseVault({ directory })).get(keyOf()))?.value).toEqual({ token: "1" });
  });

  test("keychain items are read and replaced by account, under their own service", async () => {
    const keychain = systemKeychain({ service: "wirescope-test" });
    expect(await keychain.read("a")).toBeUndefined();
    await keychain.write("a", "1");
    await keychain.write("a", "2");
    expect(await keychain.read("a")).toBe("2");
    expect(await keychain.read("b")).toBeUndefined();
    expect(await systemKeychain().read("a")).toBeUndefined();
  });

  test("a keychain that disappears is reported, and not treated as empty", async () => {
    const directory = await temporaryFolder();
    await chooseVault({ directory });
    await stop();
    stop = async () => {};
    await expect(chooseVault({ directory, kind: "keychain" })).rejects.toMatchObject({ code: "KEYCHAIN_UNAVAILABLE" });
    const { kind, warning } = (await chooseVault({ directory })).describe();
    expect(kind).toBe("memory");
    expect(warning).toContain(join(directory, "keychain"));
  });
});
