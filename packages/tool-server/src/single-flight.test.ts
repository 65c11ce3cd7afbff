import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSingleFlight } from "./single-flight.js";

interface Run {
  readonly number: number;
  readonly signal: AbortSignal;
  settle(isSuccess: boolean): void;
}

/** A task whose runs end on request. */
function scriptedTask(): { task: (signal: AbortSignal) => Promise<number>; runs: Run[]; open: Set<Run> } {
  const runs: Run[] = [];
  const open = new Set<Run>();
  const task = (signal: AbortSignal): Promise<number> =>
    new Promise((resolve, reject) => {
      const run: Run = {
        number: runs.length + 1,
        signal,
        settle(isSuccess) {
          open.delete(run);
          if (isSuccess) resolve(run.number);
          else reject(new Error(`run ${run.number} failed`));
        },
      };
      runs.push(run);
      open.add(run);
    });
  return { task, runs, open };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a single flight", () => {
  test("never overlaps runs, gives every caller a result, and lets none wait for an aborted run, under any schedule", async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant({ kind: "join" as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: "begin" as const }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("abort" as const), whom: fc.nat(50) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("settle" as const), isSuccess: fc.boolean() }) },
      { weight: 2, arbitrary: fc.constant({ kind: "turn" as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { task, runs, open } = scriptedTask();
        const flight = createSingleFlight(task);
        const callers: { controller: AbortController; result: Promise<unknown>; state: string }[] = [];
        for (const next of steps) {
          if (next.kind === "join") {
            const controller = new AbortController();
            const caller = { controller, result: flight.join(controller.signal), state: "waiting" };
            caller.result.then(
              (value) => {
                caller.state = `run ${value}`;
              },
              (error) => {
                caller.state = error === controller.signal.reason ? "aborted" : error.message;
              },
            );
            callers.push(caller);
          } else if (next.kind === "begin") flight.begin();
          else if (next.kind === "abort") callers[next.whom % callers.length]?.controller.abort();
          else if (next.kind === "settle") for (const run of [...open]) run.settle(next.isSuccess);
          else await turn();
          expect(open.size).toBeLessThanOrEqual(1);
        }
        // Ends every run, including those that start because they were waiting.
        for (;;) {
          await turn();
          if (open.size === 0) break;
          for (const run of [...open]) run.settle(true);
        }
        for (const { state, controller } of callers) {
          expect(state).not.toBe("waiting");
          if (state === "aborted") expect(controller.signal.aborted).toBe(true);
          const served = runs.find(({ number }) => state === `run ${number}`);
          if (!controller.signal.aborted) expect(served?.signal.aborted ?? false).toBe(false);
        }
        await flight.close(new Error("closed"));
      }),
      { numRuns: 300 },
    );
  });

  test("aborts a run when its last caller has left, and starts the next once it has settled", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    const [one, two] = [new AbortController(), new AbortController()];
    const results = [flight.join(one.signal), flight.join(two.signal)].map((result) => result.catch(() => "left"));
    await turn();
    one.abort();
    expect(runs[0]?.signal.aborted).toBe(false);
    two.abort();
    expect(runs[0]?.signal.aborted).toBe(true);
    expect(await Promise.all(results)).toEqual(["left", "left"]);
    const next = flight.join();
    await turn();
    expect(runs).toHaveLength(1);
    runs[0]?.settle(false);
    await turn();
    expect(runs).toHaveLength(2);
    runs[1]?.settle(true);
    expect(await next).toBe(2);
  });

  test("starts a new run for a caller that joins after the last run has ended, whether that succeeded or failed", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    expect(flight.isRunning).toBe(false);
    const first = flight.join();
    expect(flight.isRunning).toBe(true);
    await turn();
    runs[0]?.settle(true);
    expect(await first).toBe(1);
    expect(flight.isRunning).toBe(false);
    const second = flight.join();
    await turn();
    runs[1]?.settle(false);
    await expect(second).rejects.toThrow("run 2 failed");
    const third = flight.join();
    await turn();
    runs[2]?.settle(true);
    expect(await third).toBe(3);
  });

  test("lets callers join a run that waits for an aborted one, also after that has settled", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    const controller = new AbortController();
    const left = flight.join(controller.signal).catch(() => "left");
    await turn();
    controller.abort();
    expect(await left).toBe("left");
    expect(flight.isRunning).toBe(false);
    const early = flight.join();
    runs[0]?.settle(true);
    await turn();
    const late = flight.join();
    runs[1]?.settle(true);
    expect(await Promise.all([early, late])).toEqual([2, 2]);
    expect(runs).toHaveLength(2);
  });

  test("leaves no listener at the signal of a caller that got its result", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    const { signal } = new AbortController();
    const result = flight.join(signal);
    await turn();
    runs[0]?.settle(true);
    await result;
    await turn();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("starts no second run by itself while one is under way, and none once it is closed", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    flight.begin();
    flight.begin();
    const joined = flight.join();
    await turn();
    runs[0]?.settle(true);
    expect(await joined).toBe(1);
    await turn();
    expect(runs).toHaveLength(1);
    await flight.close(new Error("closed"));
    flight.begin();
    await turn();
    expect(runs).toHaveLength(1);
    expect(flight.isRunning).toBe(false);
  });

  test("continues without callers if it was started by itself", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    flight.begin();
    const controller = new AbortController();
    const result = flight.join(controller.signal).catch(() => "left");
    await turn();
    controller.abort();
    expect(await result).toBe("left");
    expect(runs[0]?.signal.aborted).toBe(false);
    runs[0]?.settle(false);
  });

  test("lets no caller join once it is closed", async () => {
    const { task, runs } = scriptedTask();
    const flight = createSingleFlight(task);
    const waiting = flight.join();
    await turn();
    const closed = flight.close(new Error("closed"));
    expect(runs[0]?.signal.aborted).toBe(true);
    runs[0]?.settle(false);
    await expect(waiting).rejects.toThrow("run 1 failed");
    await closed;
    await expect(flight.join()).rejects.toThrow("closed");
    expect(runs).toHaveLength(1);
  });
});
