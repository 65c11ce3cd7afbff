import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-from-bytes.js";
import { filesWith, temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import type { Vault } from "../../vault/vault.js";
import { createOAuthWorld, type OAuthWorld } from "../oauth-world.test.helper.js";
import type { TokenRecord } from "../tokens/token-record.js";

let bundle = "";

beforeAll(async () => {
  bundle = await mkdtemp(join(tmpdir(), "wirescope-oauth-worker-"));
  // The bundle lies where no dependencies are.
  await symlink(
    join(createRequire(import.meta.url).resolve("undici/package.json"), "../.."),
    join(bundle, "node_modules"),
  );
  await build({
    configFile: false,
    logLevel: "error",
    build: {
      ssr: fileURLToPath(new URL("refresh-worker.test.helper.ts", import.meta.url)),
      outDir: bundle,
      target: "node20",
      rollupOptions: { output: { entryFileNames: "worker.mjs" } },
    },
  });
});

afterAll(() => rm(bundle, { recursive: true, force: true }));

interface SignedIn {
  readonly world: OAuthWorld;
  readonly vault: Vault;
  readonly directory: string;
  readonly record: TokenRecord;
  start(role: string, aheadMs: number, ...rest: string[]): Worker;
}

interface Worker {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<unknown>;
  /** Resolves when it has said this. */
  said(line: string | RegExp): Promise<void>;
}

async function signedIn(): Promise<SignedIn> {
  const world = await createOAuthWorld();
  const directory = join(await temporaryFolder(), "vault");
  const WORKER_KEY = randomBytes(32).toString("base64");
  const vault = await openFileVault({ directory, key: keyFromVariable("KEY", { KEY: WORKER_KEY }) });
  onTestFinished(() => vault.dispose());
  const { record } = await world.session({ vault }).signIn(world.person);
  const start = (role: string, aheadMs: number, ...rest: string[]): Worker => {
    const args = [join(bundle, "worker.mjs"), role, directory, world.tool.url, String(aheadMs), ...rest];
    const child = spawn(process.execPath, args, { env: { WORKER_KEY }, stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "close");
    const lines: string[] = [];
    const waiting = new Set<() => void>();
    let unfinished = "";
    child.stdout?.on("data", (chunk) => {
      const parts = `${unfinished}${chunk}`.split("\n");
      unfinished = parts.pop() ?? "";
      lines.push(...parts);
      for (const look of waiting) look();
    });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await ended;
    });
    return {
      child,
      lines,
      ended,
      said: (wanted) =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (lines.some((line) => (typeof wanted === "string" ? line === wanted : wanted.test(line)))) resolve();
          };
          waiting.add(look);
          look();
          void ended.then(() => reject(new Error(`It ended after saying: ${lines.join(", ")}`)));
        }),
    };
  };
  return { world, vault, directory, record, start };
}

const hour = 3_600_000;
const rounds = 1;

test("(2) 64 calls in each of 4 processes on one expired, rotating token: one refresh, and every call succeeds", async () => {
  const { world, start } = await signedIn();
  // For all at once: each has the token in hand when its life ends at the server.
  const workers = Array.from({ length: 4 }, () => start("calls", 0, "64"));
  await Promise.all(workers.map((worker) => worker.said("ready")));
  world.authorization.endAllAccess();
  for (const { child } of workers) child.stdin?.write("go\n");
  await Promise.all(workers.map((worker) => worker.said(/^\[/)));
  for (const { lines } of workers) expect(JSON.parse(lines.at(-1) ?? "[]")).toEqual(Array(64).fill(200));
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);
});

test("(2) the same where each process finds the token expired by its own clock", async () => {
  const { world, start } = await signedIn();
  const workers = Array.from({ length: 4 }, () => start("one", hour));
  await Promise.all(workers.map((worker) => worker.said("status 200")));
  // Each is an hour ahead, and so is what the first one wrote.
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);
});

test.each(["answered", "durable"])(
  "(4) a process that is killed once it has %s leaves a sign-in, or asks once; never a plain token",
  async (moment) => {
    for (let round = 0; round < rounds; round += 1) {
      const { world, start, directory, vault } = await signedIn();
      const victim = start("one", hour);
      await victim.said(moment);
      victim.child.kill("SIGKILL");
      await victim.ended;
      const next = start("one", hour);
      await next.ended;
      const refreshes = world.authorization.count("/token", "refresh_token");
      if (next.lines.includes("status 200")) expect(refreshes).toBeLessThanOrEqual(2);
      else {
        // The rotated token was lost with the process; then the old one is dead, and was tried once.
        expect(next.lines).toEqual(["status 401"]);
        expect(refreshes).toBe(2);
        expect((await vault.list()).keys.filter(({ item }) => item === "tokens")).toEqual([]);
        const again = start("one", hour);
        await again.ended;
        expect(again.lines).toEqual(["status 401"]);
        expect(world.authorization.count("/token", "refresh_token")).toBe(2);
      }
      for (const issued of world.authorization.issued()) expect(await filesWith(directory, issued)).toEqual([]);
    }
  },
);
