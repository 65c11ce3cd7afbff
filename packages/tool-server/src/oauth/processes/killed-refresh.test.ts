import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../process/clock.js";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-from-bytes.js";
import { filesWith, temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import type { Vault } from "../../vault/vault.js";
import { callTool, createOAuthWorld, createPerson, type OAuthWorld } from "../oauth-world.test.helper.js";
import { bundleWorker, type Worker, type WorkerProgram } from "./bundled-worker.test.helper.js";
import type { RefreshStep, WorkerTask } from "./refresh-worker.test.helper.js";

const hour = 3_600_000;
const killsAtEachStep = 25;
const WORKER_KEY = randomBytes(32).toString("base64");

let program: WorkerProgram;
/** Processes that have begun and wait for a task, so that none is waited for. */
const waiting: Worker[] = [];

beforeAll(async () => {
  program = await bundleWorker();
});
afterAll(async () => {
  await Promise.all(waiting.map((worker) => worker.kill()));
  await program.remove();
});

function nextWorker(): Worker {
  while (waiting.length < 3) waiting.push(program.start([], { WORKER_KEY }));
  return waiting.shift() as Worker;
}

function openVault(directory: string): Promise<Vault> {
  return openFileVault({ directory, key: keyFromVariable("WORKER_KEY", { WORKER_KEY }) });
}

/** One start of a program that uses the tokens in a folder, with a person to ask; gives how often that one was asked. */
async function startOnce(world: OAuthWorld, directory: string): Promise<number> {
  const { person, asked } = createPerson();
  const vault = await openVault(directory);
  // As far ahead as the process that was killed.
  const clock = { ...systemClock, now: () => Date.now() + hour };
  const { credential, session } = world.credential({ vault, clock }, person);
  expect(await callTool(world.tool, credential)).toMatchObject({ status: 200 });
  await session.close();
  await vault.dispose();
  return asked.length;
}

async function killOnce(world: OAuthWorld, directory: string, stopAt: RefreshStep): Promise<void> {
  const vault = await openVault(directory);
  const { record } = await world.session({ vault }).signIn(world.person);
  await vault.dispose();
  const victim = nextWorker();
  const task: WorkerTask = { directory, url: world.tool.url, aheadMs: hour, stopAt };
  victim.tell(JSON.stringify(task));
  await victim.said(stopAt);
  await victim.kill();
  expect(victim.lines).toEqual(["ready", stopAt]);

  const isLost = stopAt === "answered" || stopAt === "written";
  // The rotated token was lost with the process, or is where the next one finds it. No one is asked twice.
  expect(await startOnce(world, directory)).toBe(isLost ? 1 : 0);
  expect(await startOnce(world, directory)).toBe(0);
  const refreshes = world.authorization.requests.filter(
    ({ form }) => form.get("grant_type") === "refresh_token" && form.get("client_id") === record.clientId,
  );
  expect(refreshes).toHaveLength(isLost ? 2 : 1);
}

test.each(["answered", "written", "renamed", "durable"] as const)(
  `[TS-D-OAUTH-3] (4) of ${killsAtEachStep} processes that are killed once it is %s, each leaves a sign-in, or asks once; never a loop, never a plain token`,
  async (stopAt) => {
    const world = await createOAuthWorld();
    const folder = await temporaryFolder();
    let begun = 0;
    const lane = async (): Promise<void> => {
      while (begun < killsAtEachStep) {
        begun += 1;
        await killOnce(world, join(folder, String(begun)), stopAt);
      }
    };
    await Promise.all([lane(), lane()]);
    expect(await filesWith(folder, ...world.authorization.issued())).toEqual([]);
  },
);
