import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { median } from "./compare.js";
import { type Row, rateRow } from "./report.js";
import { type Load, runLoad } from "./serving-client.js";

const inFlight = 32;
const rounds = 7;
const callsPerRound = 4000;

interface Peer {
  readonly port: number;
  /** The ids that a load may ask for. */
  readonly socketIds: readonly number[];
  stop(): Promise<void>;
}

/**
 * How many calls a second each side serves over gRPC, with the same lean client and as many calls in flight. Each
 * serves from a process of its own; the rounds alternate, and so does who begins.
 */
export async function benchServing(): Promise<Row[]> {
  const ours = await startPeer("serving-ours.js");
  const theirs = await startPeer("serving-theirs.js");
  try {
    const rows: Row[] = [];
    const loads: readonly { readonly work: string; readonly load: (peer: Peer) => Load }[] = [
      { work: "GetSocket, 32 in flight", load: ({ socketIds }) => ({ method: "GetSocket", ids: socketIds }) },
      { work: "page of 100 channels, 32 in flight", load: () => ({ method: "GetTopChannels", ids: [0] }) },
      { work: "page of 100 sockets, 32 in flight", load: () => ({ method: "GetServerSockets", ids: [1] }) },
    ];
    for (const { work, load } of loads) {
      const rates: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
      for (let round = -1; round < rounds; round += 1) {
        const turns = [
          { peer: ours, into: rates.ours },
          { peer: theirs, into: rates.theirs },
        ];
        if (round % 2 === 0) turns.reverse();
        for (const { peer, into } of turns) {
          const rate = await runLoad(peer.port, load(peer), inFlight, callsPerRound);
          if (round >= 0) into.push(rate);
        }
      }
      rows.push(rateRow(work, "calls/s", median(rates.ours), median(rates.theirs), 1));
    }
    return rows;
  } finally {
    await Promise.all([ours.stop(), theirs.stop()]);
  }
}

async function startPeer(file: string): Promise<Peer> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const exited = once(child, "exit");
  const [ready] = (await Promise.race([
    once(child, "message"),
    exited.then(() => Promise.reject(new Error(`${file} ended before it was ready.`))),
  ])) as [{ port: number; socketIds: number[] }];
  return {
    ...ready,
    stop: async () => {
      child.disconnect();
      await exited;
    },
  };
}
