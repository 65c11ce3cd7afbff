import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ChannelzError } from "../errors.js";
import type { Source } from "../source.js";
import { channel, peerWith, subchannel } from "./fixed-peer.test.helper.js";
import { gatherOrigins, type OriginSource } from "./gather.js";

type Read = (source: Source, signal: AbortSignal) => Promise<unknown>;

const peer = (origin: string, source: Source = peerWith({})): OriginSource => ({
  origin,
  target: `${origin}:1`,
  source,
});

describe("the grace for processes that have never responded", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  const complete: Read = async () => {};
  /** Never returns unless it is given up. */
  const silent: Read = (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  /** Responds once, and is not complete until it is given up. */
  const responsive: Read = async (source, signal) => {
    await source.getTopChannels();
    await silent(source, signal);
  };

  /** Reads one process for each read, and returns which of them were given up within ten seconds. */
  async function givenUp(reads: Record<string, Read>, concurrency = 64): Promise<string[]> {
    const source: Source = {
      ...peerWith({}),
      getSubchannel: () => Promise.reject(new ChannelzError("PEER_UNAVAILABLE", "gone")),
    };
    const controller = new AbortController();
    const ended: string[] = [];
    const gathering = gatherOrigins(
      Object.keys(reads).map((name) => peer(name, source)),
      async (observed, signal, { origin }) => {
        await reads[origin]?.(observed, signal).catch((error) => {
          if (!controller.signal.aborted) ended.push(origin);
          throw error;
        });
      },
      { concurrency, deadlineMs: 0, signal: controller.signal },
    );
    await vi.advanceTimersByTimeAsync(10_000);
    controller.abort(new ChannelzError("PEER_TIMEOUT", "The test is over."));
    await gathering;
    return ended;
  }

  test("[CZ-D-CLI-2] begins once all others are complete, and not while one of them still responds", async () => {
    expect(await givenUp({ complete, silent })).toEqual(["silent"]);
    expect(await givenUp({ complete, responsive, silent })).toEqual([]);
    const completeLater: Read = async (source) => {
      await source.getTopChannels();
      await new Promise((resolve) => setTimeout(resolve, 5000));
    };
    expect(await givenUp({ complete, completeLater, silent })).toEqual(["silent"]);
  });

  test("[CZ-D-CLI-2] does not begin if all others failed", async () => {
    const failing: Read = (source) => source.getSubchannel(1);
    expect(await givenUp({ failing, silent })).toEqual(["failing"]);
    expect(await givenUp({ failing, complete, silent })).toEqual(["failing", "silent"]);
  });

  test("[CZ-D-CLI-2] does not begin while a process has not been asked yet", async () => {
    expect(await givenUp({ complete, silent, last: silent }, 2)).toEqual([]);
  });

  test("[CZ-D-CLI-2] spares a process that responds before it is over", async () => {
    const respondLate: Read = async (source, signal) => {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await responsive(source, signal);
    };
    expect(await givenUp({ complete, respondLate, silent })).toEqual(["silent"]);
  });

  test("counts an object that does not exist as a response, but not a failed connection", async () => {
    const unknown: Read = async (source, signal) => {
      await expect(source.getChannel(9)).rejects.toMatchObject({ code: "NOT_FOUND" });
      await silent(source, signal);
    };
    expect(await givenUp({ complete, unknown })).toEqual([]);
    const unreachable: Read = async (source, signal) => {
      await expect(source.getSubchannel(9)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
      await silent(source, signal);
    };
    expect(await givenUp({ complete, unreachable })).toEqual(["unreachable"]);
  });
});

describe("gatherOrigins", () => {
  test("passes every read to the source of the process", async () => {
    const source = peerWith({
      top: [channel(1)],
      servers: [{ id: 2n, listen: [3n], sockets: [4n] }],
      subchannels: [subchannel(5)],
    });
    const readAll = (from: Source): Promise<unknown> =>
      Promise.all([
        from.getTopChannels({ maxResults: 1 }),
        from.getServers({ startId: 2 }),
        from.getServer(2),
        from.getServerSockets(2),
        from.getChannel(1),
        from.getSubchannel(5),
        from.getSocket(4),
      ]);
    const [gathered] = await gatherOrigins([peer("a", source)], readAll);
    expect(gathered?.value).toEqual(await readAll(source));
  });

  test("gives a reader a signal that is already aborted if that of the caller is", async () => {
    const reason = new ChannelzError("PEER_TIMEOUT", "The caller has left.");
    const read: Read = async (_, signal) => signal.throwIfAborted();
    const [gathered] = await gatherOrigins([peer("a")], read, { signal: AbortSignal.abort(reason) });
    expect(gathered?.error).toBe(reason);
  });

  test("rejects with any failure that is not of the process", async () => {
    const defect = new RangeError("a defect");
    await expect(gatherOrigins([peer("a")], () => Promise.reject(defect))).rejects.toBe(defect);
  });

  test("lets many processes listen to one signal without a warning of Node", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const { signal } = new AbortController();
    const origins = Array.from({ length: 50 }, (_, n) => peer(`p${n}`));
    await gatherOrigins(origins, () => new Promise((resolve) => setImmediate(resolve)), { signal });
    expect(warnings).not.toContain("MaxListenersExceededWarning");
  });
});
