import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../../../clock.js";
import { openFileVault } from "../../vault/file-vault.js";
import { type KeySource, keyFromVariable } from "../../vault/key-source.js";
import { temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import { createOAuthWorld, currentToken, type OAuthWorld, replaceToken } from "../oauth-world.test.helper.js";
import { bundleWorker, type Worker, type WorkerProgram } from "./bundled-worker.test.helper.js";
import type { WorkerTask } from "./refresh-worker.test.helper.js";

let program: WorkerProgram;
beforeAll(async () => {
  program = await bundleWorker();
});
afterAll(() => program.remove());

interface SignedIn {
  readonly world: OAuthWorld;
  readonly directory: string;
  readonly key: KeySource;
  start(task: Partial<WorkerTask>): Worker;
}

/** A world in which a user has signed in, with a vault that processes share. */
async function signedIn(): Promise<SignedIn> {
  const world = await createOAuthWorld();
  const directory = join(await temporaryFolder(), "vault");
  const WORKER_KEY = randomBytes(32).toString("base64");
  const key = keyFromVariable("KEY", { KEY: WORKER_KEY });
  const vault = await openFileVault({ directory, key });
  onTestFinished(() => vault.dispose());
  await world.session({ vault }).signIn(world.person);
  return {
    world,
    directory,
    key,
    start(task) {
      const worker = program.start([], { WORKER_KEY });
      onTestFinished(async () => void (await worker.kill()));
      worker.send(JSON.stringify({ directory, url: world.tool.url, aheadMs: 0, ...task } satisfies WorkerTask));
      return worker;
    },
  };
}

test("(2) refreshes one expired, rotating token once for 16 calls in each of 3 processes, and every call succeeds", async () => {
  const { world, start } = await signedIn();
  // For all at once: each has the token in memory when the server expires it.
  const workers = Array.from({ length: 3 }, () => start({ calls: 16 }));
  await Promise.all(workers.map((worker) => worker.said("holding")));
  world.authorization.endAllAccess();
  for (const worker of workers) worker.send("go");
  await Promise.all(workers.map((worker) => worker.said(/^\[/)));
  for (const { lines } of workers) expect(JSON.parse(lines.at(-1) ?? "[]")).toEqual(Array(16).fill(200));
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);
});

test("(2) refreshes a token once if two processes find it expired by their own clocks, and every call succeeds", async () => {
  const { world, start } = await signedIn();
  const workers = Array.from({ length: 2 }, () => start({ aheadMs: 3_600_000 }));
  await Promise.all(workers.map((worker) => worker.said("status 200")));
  // Each clock is an hour ahead, and so is the expiry that the first one wrote.
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);
});

test("[TS-D-STORE-10] a process that is suspended before a refresh, and whose lock another one takes over meanwhile, does not spend the token", async () => {
  const { world, directory, key, start } = await signedIn();
  const suspended = start({ aheadMs: 3_600_000, stopAt: "marking" });
  await suspended.said("marking");
  suspended.child.kill("SIGSTOP");
  // A suspended process of this host is known to be alive. One of another host can only be judged by its heartbeat.
  const locks = join(directory, "locks");
  for (const name of await readdir(locks)) {
    const path = join(locks, name);
    if (name.endsWith(".lock"))
      await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), space: "another host" }));
  }
  const fast: Clock = {
    now: () => performance.now() * 20,
    after: (delayMs, wake) => systemClock.after(delayMs / 20, wake),
  };
  const vault = await openFileVault({ directory, key, clock: fast });
  onTestFinished(() => vault.dispose());
  const session = world.session({ vault });
  const old = await currentToken(session);
  const renewed = await replaceToken(session, old);
  expect(renewed?.revision).not.toBe(old?.revision);
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);

  suspended.child.kill("SIGCONT");
  suspended.send("go");
  await suspended.ended;
  expect(suspended.lines).toEqual(["ready", "marking", "VAULT_LOCKED"]);
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);
  expect(await vault.list()).toMatchObject({ keys: { length: 3 }, unreadable: [] });
  expect((await replaceToken(session, renewed))?.revision).not.toBe(renewed?.revision);
});
