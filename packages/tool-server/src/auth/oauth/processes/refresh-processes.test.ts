import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import { temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import { createOAuthWorld, type OAuthWorld } from "../oauth-world.test.helper.js";
import { bundleWorker, type Worker, type WorkerProgram } from "./bundled-worker.test.helper.js";
import type { WorkerTask } from "./refresh-worker.test.helper.js";

let program: WorkerProgram;
beforeAll(async () => {
  program = await bundleWorker();
});
afterAll(() => program.remove());

/** A world in which a user has signed in, with a vault that processes share. */
async function signedIn(): Promise<{ world: OAuthWorld; start(task: Partial<WorkerTask>): Worker }> {
  const world = await createOAuthWorld();
  const directory = join(await temporaryFolder(), "vault");
  const WORKER_KEY = randomBytes(32).toString("base64");
  const vault = await openFileVault({ directory, key: keyFromVariable("KEY", { KEY: WORKER_KEY }) });
  onTestFinished(() => vault.dispose());
  await world.session({ vault }).signIn(world.person);
  return {
    world,
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
