import type { FleetServer } from "./fleet.js";
import type { Ledger } from "./ledger.js";
import type { Era, MarkArguments } from "./marking-server.js";
import type { Random } from "./random.js";
import { openRawClient } from "./raw-client.js";
import { openSdkClient } from "./sdk-client.js";
import type { RunningCall, SoakClient } from "./soak-client.js";

/** What the life of a client depends on. */
export interface ClientLife {
  readonly endpoint: string;
  readonly token: string;
  readonly ledger: Ledger;
  readonly random: Random;
  /** The servers that may be called now. */
  readonly servers: () => readonly FleetServer[];
  readonly isOver: () => boolean;
  /** Milliseconds between two calls, on average. */
  readonly thinkMs: number;
  /** Calls of one connection, on average. */
  readonly callsPerConnection: number;
  /** Whether all say good-bye. */
  readonly isPolite: boolean;
  /** After so long without a word a session ends. */
  readonly sessionIdleMs: number;
  /** Gets the session of each client that vanished. */
  readonly orphans: Set<string>;
}

/** A call without a response for this long is lost. */
const lostMs = 60_000;
/** A cancelled call ends well before its response would have come. */
const cancelledMs = 20_000;

/** A client while it is connected. */
interface Connected {
  readonly client: SoakClient;
  /** When the last request that got a response was sent: the gateway has used the session since then. */
  usedAt: number;
  /** Whether the gateway ended its session as idle. */
  isLost: boolean;
}

/**
 * Whether a session ended because it was idle. On a machine that is busy with other things a request may take longer to arrive than
 * that. A session that is gone sooner is a defect of the gateway.
 */
function wasIdle(reason: string, usedAt: number, { ledger, sessionIdleMs }: ClientLife): boolean {
  if (!reason.includes("Session not found") || performance.now() - usedAt < sessionIdleMs) return false;
  ledger.counts.lostSessions += 1;
  return true;
}

/** Comes, calls and goes, again and again, until it is over. */
export async function liveAsClient(index: number, life: ClientLife): Promise<void> {
  const { ledger, random, isOver, endpoint, token } = life;
  const era: Era = index % 2 === 0 ? "legacy" : "modern";
  const open = index % 50 < 2 ? openSdkClient : openRawClient;
  await pause(random.between(0, life.thinkMs));
  for (let round = 0; !isOver(); round += 1) {
    let connected: Connected;
    const usedAt = performance.now();
    try {
      const client = await open({ endpoint, token, name: `c${index}`, era, isListening: random.chance(0.3) });
      connected = { client, usedAt, isLost: false };
      ledger.counts.connects += 1;
    } catch (error) {
      if (!wasIdle(String(error), usedAt, life)) ledger.unexplained("A client could not connect.", String(error));
      await pause(life.thinkMs);
      continue;
    }
    const turns = random.between(1, life.callsPerConnection * 2);
    for (let turn = 0; turn < turns && !connected.isLost && !isOver(); turn += 1) {
      const heardAt = performance.now();
      await pause(random.between(0, life.thinkMs * 2));
      // On a machine that is busy with other things it may not have come to say a word in time.
      if (performance.now() - heardAt > life.sessionIdleMs / 2) break;
      await takeTurn(connected, `c${index}-${round}-${turn}`, life);
    }
    // A client whose session is gone connects again, as the protocol requires.
    if (connected.isLost) connected.client.vanish();
    else await leave(connected.client, `c${index}-${round}-last`, life);
  }
}

async function takeTurn(connected: Connected, mark: string, life: ClientLife): Promise<void> {
  const { ledger, random } = life;
  if (random.chance(0.03)) {
    const startedAt = performance.now();
    try {
      ledger.counts.lists += 1;
      await connected.client.list();
      connected.usedAt = startedAt;
    } catch (error) {
      connected.isLost = wasIdle(String(error), connected.usedAt, life);
      if (!connected.isLost) ledger.unexplained("A list of tools failed.", String(error));
    }
    return;
  }
  const server = random.pick(life.servers());
  const dice = random.between(0, 100);
  if (dice < 10) await cancel(connected, server, mark, life);
  else if (dice < 20 && server.canAsk) await callAndCheck(connected, server, { mark, asks: true }, life);
  else if (dice < 40) await callAndCheck(connected, server, { mark, steps: 2, pauseMs: random.between(10, 300) }, life);
  else await callAndCheck(connected, server, { mark }, life);
}

async function leave(client: SoakClient, mark: string, life: ClientLife): Promise<void> {
  const { ledger, random } = life;
  if (life.isPolite || random.chance(0.7)) {
    ledger.counts.closes += 1;
    await client.close().catch((error) => ledger.unexplained("A client could not say good-bye.", String(error)));
    return;
  }
  // In the middle of a call, whose response is not read.
  const server = random.pick(life.servers());
  begin(client, server, { mark, pauseMs: 500 }, life).result.catch(() => {});
  ledger.counts.abandoned += 1;
  await pause(random.between(0, 50));
  client.vanish();
  if (client.session !== undefined) life.orphans.add(client.session);
  ledger.counts.vanishes += 1;
}

/** Begins a call; what comes in the middle of it is held against its mark. */
function begin(
  client: SoakClient,
  server: FleetServer,
  args: MarkArguments,
  { ledger }: ClientLife,
  onStep = (): void => {},
): RunningCall {
  const { mark } = args;
  const check = (what: string, received: string): void => {
    if (received !== mark) ledger.crossTalk.push(`${mark} of ${server.name} was ${what} ${received}`);
  };
  ledger.counts.calls += 1;
  const given = server.isReference ? ({ message: mark } as unknown as MarkArguments) : args;
  return client.call(`${server.name}__${server.isReference ? "echo" : "mark"}`, given, {
    onProgress(message) {
      ledger.counts.steps += 1;
      check("sent", message);
      onStep();
    },
    onQuestion(message) {
      ledger.counts.questions += 1;
      check("asked", message);
      return mark;
    },
  });
}

async function callAndCheck(
  connected: Connected,
  server: FleetServer,
  args: MarkArguments,
  life: ClientLife,
): Promise<void> {
  const { ledger } = life;
  const { mark } = args;
  const startedAt = performance.now();
  const { result, cancel } = begin(connected.client, server, args, life);
  try {
    const text = await Promise.race([result, lostAfter(lostMs)]);
    const due = server.isReference ? `Echo: ${mark}` : `${server.name} ${mark}${args.asks ? ` ${mark}` : ""}`;
    if (args.asks && text === `${server.name} ${mark} undefined`)
      throw new Error("The server's question got no reply.");
    if (text !== due) ledger.crossTalk.push(`${mark} of ${server.name} got ${text}`);
    ledger.counts.responses += 1;
    ledger.responded(server.name, startedAt);
    connected.usedAt = startedAt;
  } catch (error) {
    failed(connected, server, startedAt, (error as Error).message, life);
    result.catch(() => {});
    cancel();
  }
}

/** A call failed: it says so, unless its session ended as idle. */
function failed(connected: Connected, server: FleetServer, startedAt: number, reason: string, life: ClientLife): void {
  connected.isLost = wasIdle(reason, connected.usedAt, life);
  if (!connected.isLost) life.ledger.failed(server.name, startedAt, reason);
}

async function cancel(connected: Connected, server: FleetServer, mark: string, life: ClientLife): Promise<void> {
  const { ledger, random } = life;
  const { client } = connected;
  const startedAt = performance.now();
  let hasBegun = false;
  const call = begin(client, server, { mark, steps: 1, pauseMs: cancelledMs * 2 }, life, () => {
    hasBegun = true;
  });
  let failure: Error | undefined;
  const note = (error: Error): undefined => {
    failure = error;
  };
  const settled = call.result.catch(note);
  let isSettled = false;
  void settled.then(() => {
    isSettled = true;
  });
  await pause(random.between(0, 200));
  // In the older era the cancellation is a request of its own, and must not arrive before the call.
  while (client.era === "legacy" && !hasBegun && !isSettled) await pause(20);
  call.cancel();
  if (hasBegun) connected.usedAt = startedAt;
  ledger.counts.cancels += 1;
  const offAt = performance.now();
  const came = await Promise.race([settled, lostAfter(lostMs)]).catch(note);
  if (failure !== undefined) failed(connected, server, startedAt, failure.message, life);
  else if (came === undefined) return;
  else if (!came.endsWith(mark)) ledger.crossTalk.push(`${mark} of ${server.name} was cancelled, and got ${came}`);
  else if (performance.now() - offAt > cancelledMs) {
    ledger.unexplained("A cancelled call continued.", `${mark} of ${server.name}`);
  }
}

/** Rejects in so long; does not hold up the end of the process. */
function lostAfter(ms: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`No response in ${ms / 1000} s.`)), ms).unref();
  });
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
