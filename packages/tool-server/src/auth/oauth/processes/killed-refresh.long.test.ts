import { randomBytes, randomInt } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../clock.js";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import { filesBelow, filesWith, temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import { storageIdOf, type Vault } from "../../vault/vault.js";
import { vaultKeyOf } from "../login-store.js";
import { callTool, createOAuthWorld, createPerson, type OAuthWorld } from "../oauth-world.test.helper.js";
import { bundleWorker, type Worker, type WorkerProgram } from "./bundled-worker.test.helper.js";
import type { RefreshStep, WorkerTask } from "./refresh-worker.test.helper.js";

const hour = 3_600_000;
const killsAtEachStep = 20;
const killsAtRandom = 100;
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

/** What a program found that was started after a kill. */
interface Started {
  /** How often the user was asked to sign in. */
  readonly signIns: number;
  /** Whether it reported that an interrupted renewal may have used the refresh token. */
  readonly isReported: boolean;
}

/** Starts a program once that uses the tokens of the vault. */
async function startOnce(lane: Lane): Promise<Started> {
  const { person, signInRequests } = createPerson();
  const vault = await openVault(lane);
  const clock = { ...systemClock, now: () => Date.now() + lane.aheadMs };
  const texts: string[] = [];
  const { credential, session } = lane.world.credential({ vault, clock }, person);
  session.context.log.subscribe(({ text }) => texts.push(text));
  expect(await callTool(lane.world.tool, credential)).toMatchObject({ status: 200 });
  await session.close();
  await vault.dispose();
  const isReported = texts.some((text) => text.includes("An interrupted renewal may have used the refresh token."));
  return { signIns: signInRequests.length, isReported };
}

/** The files of the tokens, without decrypting them. */
interface TokenFiles {
  readonly token: string;
  readonly draft: string | undefined;
}

async function tokenFilesOf({ world, folder }: Lane): Promise<TokenFiles> {
  const login = { server: "notes", url: new URL(world.tool.url), owner: "", profile: "test", tenant: "" };
  const path = join(folder, storageIdOf(vaultKeyOf(login, world.authorization.issuer, "tokens")));
  const draft = await readFile(`${path}.renewal`, "utf8").catch(() => undefined);
  return { token: await readFile(`${path}.token`, "utf8"), draft };
}

type State = "old" | "old, mark" | "old, unreadable file" | "old, complete newer file" | "new";

function stateOf(before: TokenFiles, { token, draft }: TokenFiles): State {
  if (token !== before.token) return "new";
  if (draft === undefined) return "old";
  const text = draft.trimEnd();
  if (!text.endsWith("}")) return "old, unreadable file";
  // A mark is much shorter than tokens.
  return text.length < 500 ? "old, mark" : "old, complete newer file";
}

/** How many of the killed processes left which state, and what the next one did. */
const table = new Map<string, number>();
afterAll(() => {
  const rows = [...table].sort().map(([row, count]) => `${String(count).padStart(5)}  ${row}`);
  console.log(["kills  on disk → next process", ...rows].join("\n"));
});

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
  expect(await startOnce(lane)).toMatchObject({ signIns: 0 });
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

/** What a kill left, and what came of it. */
interface Killed extends Started {
  readonly state: State;
  /** The refreshes of the killed process and of the next one. */
  readonly refreshes: number;
}

/** Kills `count` processes in a few lanes at once. */
async function killMany(
  count: number,
  kill: (lane: Lane) => Promise<void>,
  verify: (killed: Killed) => void,
): Promise<void> {
  const world = await createOAuthWorld();
  let begun = 0;
  const runLane = async (): Promise<void> => {
    const lane = await createLane(world);
    for (; begun < count; lane.aheadMs += hour) {
      begun += 1;
      const requested = refreshesOf(lane);
      const before = await tokenFilesOf(lane);
      await kill(lane);
      await expectSound(lane);
      const state = stateOf(before, await tokenFilesOf(lane));
      const started = await startOnce(lane);
      // The user is not asked twice.
      expect(await startOnce(lane)).toEqual({ signIns: 0, isReported: false });
      const killed = { ...started, state, refreshes: refreshesOf(lane) - requested };
      const { signIns, isReported, refreshes } = killed;
      const outcome = signIns === 0 ? "a valid token" : isReported ? "reported, signed in" : "silently signed in";
      const row = `${state} → ${outcome}, ${refreshes} refreshes in both`;
      table.set(row, (table.get(row) ?? 0) + 1);
      // Each refresh token is spent once, and no loss is silent.
      expect(killed).toMatchObject({ isReported: signIns === 1, refreshes: 1 + signIns });
      verify(killed);
    }
    await expectCleaned(lane);
  };
  await Promise.all(Array.from({ length: laneCount }, runLane));
}

const steps: Record<RefreshStep, State> = {
  marking: "old",
  marked: "old, mark",
  responded: "old, mark",
  writing: "old, unreadable file",
  written: "old, complete newer file",
  renamed: "new",
  durable: "new",
};

test.each(Object.entries(steps) as [RefreshStep, State][])(
  `[TS-D-OAUTH-3, TS-D-STORE-10] (4) keeps the sign-in, or says why it is lost, after each of ${killsAtEachStep} processes that are killed at the step "%s" of a refresh, which leaves "%s"`,
  async (stopAt, state) => {
    const kill = async (lane: Lane): Promise<void> => {
      const victim = await startVictim(lane, stopAt);
      await victim.said(stopAt);
      await victim.kill();
      expect(victim.lines).toEqual(["ready", stopAt]);
    };
    // The rotated token was lost with the process, or is stored where the next one finds it.
    const isLost = stopAt === "responded" || stopAt === "writing";
    await killMany(killsAtEachStep, kill, (killed) => {
      expect(killed).toMatchObject({ state, signIns: isLost ? 1 : 0 });
    });
  },
);

test(`[TS-D-OAUTH-3, TS-D-STORE-10] (4) keeps the sign-in, or says why it is lost, after each of ${killsAtRandom} processes that are killed at any moment; never a loop, never a plain token`, async () => {
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
  await killMany(killsAtRandom, kill, ({ state, signIns }) => {
    if (state === "old, complete newer file" || state === "new") expect(signIns).toBe(0);
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
