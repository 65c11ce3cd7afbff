import { randomBytes, randomInt } from "node:crypto";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../clock.js";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import { filesBelow, filesWith, temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import type { Vault } from "../../vault/vault.js";
import { callTool, createOAuthWorld, createPerson, type OAuthWorld } from "../oauth-world.test.helper.js";
import { bundleWorker, type Worker, type WorkerProgram } from "./bundled-worker.test.helper.js";
import type { RefreshStep, WorkerTask } from "./refresh-worker.test.helper.js";

const hour = 3_600_000;
const killsAtEachStep = 16;
const killsAtRandom = 36;
const laneCount = 3;
const WORKER_KEY = randomBytes(32).toString("base64");

let program: WorkerProgram;
/** The folder for everything that processes write outside of the vault. */
let home: string;
/** Started processes that wait for a task, so that no test waits for a start. */
const waiting: Worker[] = [];

beforeAll(async () => {
  program = await bundleWorker();
  home = await mkdtemp(join(tmpdir(), "wirescope-oauth-home-"));
});
afterAll(async () => {
  await Promise.all(waiting.map((worker) => worker.kill()));
  await program.remove();
  await rm(home, { recursive: true, force: true });
});

function nextWorker(): Worker {
  const environment = { WORKER_KEY, HOME: home, TMPDIR: home };
  while (waiting.length <= laneCount) waiting.push(program.start([], environment, home));
  return waiting.shift() as Worker;
}

/** A user who signs in, and whose processes are killed repeatedly, with the same vault. */
interface Lane {
  readonly world: OAuthWorld;
  /** The vault's. */
  readonly folder: string;
  /** Each sign-in of a lane uses the registration of the first. */
  readonly clientId: string;
  /** How far the clocks of the processes are ahead: further each time, so that the token has always expired. */
  aheadMs: number;
}

function openVault({ folder }: Pick<Lane, "folder">): Promise<Vault> {
  return openFileVault({ directory: folder, key: keyFromVariable("WORKER_KEY", { WORKER_KEY }) });
}

/** Starts a program once that uses the tokens of the vault; returns how often the user was asked to sign in. */
async function startOnce(lane: Lane): Promise<number> {
  const { person, signInRequests } = createPerson();
  const vault = await openVault(lane);
  const clock = { ...systemClock, now: () => Date.now() + lane.aheadMs };
  const { credential, session } = lane.world.credential({ vault, clock }, person);
  expect(await callTool(lane.world.tool, credential)).toMatchObject({ status: 200 });
  await session.close();
  await vault.dispose();
  return signInRequests.length;
}

async function startVictim({ world, folder, aheadMs }: Lane, stopAt?: RefreshStep): Promise<Worker> {
  const victim = nextWorker();
  await victim.said("ready");
  const task: WorkerTask = { directory: folder, url: world.tool.url, aheadMs, stopAt };
  victim.send(JSON.stringify(task));
  return victim;
}

/** Checks the state before anything is repaired: each entry is complete, and nothing is stored in plain text. */
async function expectSound(lane: Lane): Promise<void> {
  expect(await filesWith(lane.folder, ...lane.world.authorization.issued())).toEqual([]);
  expect(await readdir(home)).toEqual([]);
  const vault = await openVault(lane);
  expect(await vault.list()).toMatchObject({ keys: { length: 3 }, unreadable: [] });
  await vault.dispose();
}

/** How often a refresh of this lane's tokens was attempted. */
function refreshesOf({ world, clientId }: Lane): number {
  return world.authorization.requests.filter(
    ({ form }) => form.get("grant_type") === "refresh_token" && form.get("client_id") === clientId,
  ).length;
}

/** Checks that leftovers of killed processes are removed once they are old and the next refresh is done. */
async function expectCleaned(lane: Lane): Promise<void> {
  const past = new Date(Date.now() - 2 * hour);
  for (const path of (await filesBelow(lane.folder)).keys()) if (path.endsWith(".tmp")) await utimes(path, past, past);
  expect(await startOnce(lane)).toBe(0);
  const names = [...(await filesBelow(lane.folder)).keys()].map((path) => path.slice(lane.folder.length + 1));
  expect(names.filter((name) => !/^(vault\.json|[0-9a-f]{64}\.token)$/.test(name))).toEqual([]);
}

async function createLane(world: OAuthWorld): Promise<Lane> {
  const lane = { world, folder: join(await temporaryFolder(), "vault"), clientId: "", aheadMs: hour };
  const vault = await openVault(lane);
  const { record } = await world.session({ vault }).signIn(world.person);
  await vault.dispose();
  return { ...lane, clientId: record.clientId };
}

/** Kills `count` processes in a few lanes at once; `verify` gets how often the user was asked after each, and the number of refreshes. */
async function killMany(
  count: number,
  kill: (lane: Lane) => Promise<void>,
  verify: (signIns: number, refreshes: number) => void,
): Promise<void> {
  const world = await createOAuthWorld();
  let begun = 0;
  const runLane = async (): Promise<void> => {
    const lane = await createLane(world);
    for (; begun < count; lane.aheadMs += hour) {
      begun += 1;
      const before = refreshesOf(lane);
      await kill(lane);
      await expectSound(lane);
      const signIns = await startOnce(lane);
      // The user is not asked twice.
      expect(await startOnce(lane)).toBe(0);
      verify(signIns, refreshesOf(lane) - before);
    }
    await expectCleaned(lane);
  };
  await Promise.all(Array.from({ length: laneCount }, runLane));
}

test.each(["responded", "written", "renamed", "durable"] as const)(
  `[TS-D-OAUTH-3] (4) keeps the sign-in or asks once after each of ${killsAtEachStep} processes that are killed once the token is %s; never a loop, never a plain token`,
  async (stopAt) => {
    const kill = async (lane: Lane): Promise<void> => {
      const victim = await startVictim(lane, stopAt);
      await victim.said(stopAt);
      await victim.kill();
      expect(victim.lines).toEqual(["ready", stopAt]);
    };
    // The rotated token was lost with the process, or is stored where the next one finds it.
    const isLost = stopAt === "responded" || stopAt === "written";
    await killMany(killsAtEachStep, kill, (signIns, refreshes) => {
      expect({ signIns, refreshes }).toEqual(isLost ? { signIns: 1, refreshes: 2 } : { signIns: 0, refreshes: 1 });
    });
  },
);

test(`[TS-D-OAUTH-3] (4) keeps the sign-in or asks once after each of ${killsAtRandom} processes that are killed at any moment; never a loop, never a plain token`, async () => {
  const spans = await measureRefresh();
  let killed = 0;
  const kill = async (lane: Lane): Promise<void> => {
    killed += 1;
    const before = refreshesOf(lane);
    const victim = await startVictim(lane);
    // Every other one after the token request: that is the shorter part, and the critical one.
    const isLate = killed % 2 === 0;
    if (isLate) await refreshRequested(lane, before);
    await new Promise((resolve) => setTimeout(resolve, randomInt(isLate ? spans.lateMs : spans.wholeMs)));
    await victim.kill();
  };
  await killMany(killsAtRandom, kill, (signIns, refreshes) => {
    expect(signIns).toBeLessThanOrEqual(1);
    expect(refreshes).toBe(1 + signIns);
  });
});

/** Resolves when more than `before` refreshes were requested. */
async function refreshRequested(lane: Lane, before: number): Promise<void> {
  while (refreshesOf(lane) === before) await new Promise((resolve) => setImmediate(resolve));
}

/** The duration of an undisturbed process: from its task to its response, and from its refresh on. */
async function measureRefresh(): Promise<{ readonly wholeMs: number; readonly lateMs: number }> {
  const lane = await createLane(await createOAuthWorld());
  const begun = performance.now();
  const victim = await startVictim(lane);
  await refreshRequested(lane, 0);
  const refreshing = performance.now();
  await victim.said("status 200");
  const ended = performance.now();
  await victim.kill();
  return { wholeMs: Math.ceil(ended - begun), lateMs: Math.ceil(ended - refreshing) };
}
