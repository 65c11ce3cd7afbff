import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectChannelz } from "@wirescope/channelz";
import { createTimeline, readSnapshot, sample } from "@wirescope/channelz/timeline";
import { createRecording, openRecording } from "@wirescope/channelz/timeline/node";
import { childEnvironment } from "../child-environment.js";
import { figure, type Row } from "../report.js";
import { startServing } from "../serving-process.js";
import { createChurningProcess } from "./churning-process.js";

const objects = 1000;
const secondsPerDay = 86_400;

/** What recordings and samples cost. Ten minutes of a churning process are recorded as fast as they can be, and extrapolated. */
export async function benchRecordings(isQuick: boolean): Promise<Row[]> {
  const seconds = isQuick ? 120 : 600;
  return [
    await recordingSize(0.3, seconds),
    await recordingSize(1, seconds),
    await sampleCost(isQuick ? 50 : 200),
    await targetCost(isQuick ? 4 : 10),
  ];
}

async function recordingSize(activeShare: number, seconds: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  const churning = createChurningProcess(objects);
  const writer = createRecording(join(folder, "bench.wsr"));
  const timeline = createTimeline({ maxBytes: 0 });
  try {
    for (let second = 0; second < seconds; second += 1) {
      churning.step(activeShare);
      writer.append(timeline.append({ ...(await readSnapshot(churning.registry)), timeMs: churning.nowMs }));
    }
  } finally {
    writer.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const megabytes = (writer.bytes() / seconds) * secondsPerDay * 1e-6;
  return {
    work: `a recording of one day, ${objects} objects, ${activeShare * 100} % of them active in each second`,
    ours: `${figure(megabytes)} MB`,
    theirs: "100 MB",
    ratio: megabytes / 100,
    goal: "at most 1.000",
    isMet: megabytes <= 100,
  };
}

/** The processor time of sampling a registry in this process: reading, comparing and storing, without the traffic itself. */
async function sampleCost(samples: number): Promise<Row> {
  const churning = createChurningProcess(objects);
  const sampler = sample(churning.registry, { intervalMs: 1 });
  const taken = new Promise<number>((resolve) => {
    let count = 0;
    let used = 0;
    let before = process.cpuUsage();
    sampler.timeline.subscribe(() => {
      const { user, system } = process.cpuUsage(before);
      count += 1;
      // The first ones are slow, until the code is compiled.
      if (count > 50) used += (user + system) / 1000;
      if (count === 50 + samples) resolve(used / samples);
      churning.step(0.3);
      before = process.cpuUsage();
    });
  });
  const ms = await taken;
  sampler.stop();
  await sampler.ended;
  return {
    work: `a sample of ${objects} objects in this process, of one second`,
    ours: `${figure(ms)} ms`,
    theirs: "1,000 ms",
    ratio: ms / 1000,
    goal: "at most 0.050",
    isMet: ms <= 50,
  };
}

const recordedObjects = 10_000;
/** A read of all objects ends within half of it, also on a slow machine. */
const sampleIntervalMs = 4000;

/** The processor time that a target spends for each sample of `wirescope record`, and for reading all of its objects alone. */
async function targetCost(samples: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  const file = join(folder, "bench.wsr");
  const target = await startServing("page-target-server.js", [String(recordedObjects)]);
  const address = `127.0.0.1:${target.ready.port}`;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  /** The processor time of the target, and how long that took. */
  const costOf = async (work: () => Promise<void>): Promise<{ cpuMs: number; elapsedMs: number }> => {
    const { cpuMicros: before } = await target.usage();
    const startedAt = performance.now();
    await work();
    const { cpuMicros: after } = await target.usage();
    return { cpuMs: (after - before) / 1000, elapsedMs: performance.now() - startedAt };
  };
  try {
    const source = connectChannelz(address);
    const read = async (count: number): Promise<void> => {
      for (let taken = 0; taken < count; taken += 1) {
        const interval = pause(sampleIntervalMs);
        await readSnapshot(source);
        await interval;
      }
    };
    await read(2);
    const idle = await costOf(() => pause(sampleIntervalMs));
    /** Without the traffic of the target itself. */
    const costOfEach = async (work: () => Promise<void>): Promise<number> => {
      const { cpuMs, elapsedMs } = await costOf(work);
      return (cpuMs - (idle.cpuMs / idle.elapsedMs) * elapsedMs) / samples;
    };
    const reading = await costOfEach(() => read(samples));
    await source.close();
    const recording = await costOfEach(async () => {
      const command = fileURLToPath(new URL("../../../packages/cli/bin/wirescope.js", import.meta.url));
      // The time counts from the end of the first sample. It ends between two, so that no read is cut off and not counted.
      const durationMs = (samples - 0.5) * sampleIntervalMs;
      const times = ["--interval", `${sampleIntervalMs}ms`, "--for", `${durationMs}ms`];
      const args = [command, "record", file, "--target", address, ...times];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"], env: childEnvironment() });
      const [code] = await once(child, "close");
      if (code !== 0) throw new Error(`wirescope record ended with code ${code}.`);
      const recorded = openRecording(file);
      const taken = [...recorded.snapshots()].length;
      recorded.close();
      if (taken !== samples) throw new Error(`wirescope record took ${taken} samples in the time of ${samples}.`);
    });
    return {
      work: `the target of wirescope record, ${recordedObjects} objects, CPU for each sample (right: for a read alone)`,
      ours: `${figure(recording)} ms`,
      theirs: `${figure(reading)} ms`,
      ratio: recording / reading,
      goal: "at most 1.100",
      isMet: recording <= 1.1 * reading,
    };
  } finally {
    await target.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
