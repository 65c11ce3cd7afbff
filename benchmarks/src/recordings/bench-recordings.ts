import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTimeline, readSnapshot, sample } from "@wirescope/channelz/timeline";
import { createRecording } from "@wirescope/channelz/timeline/node";
import { figure, type Row } from "../report.js";
import { createChurningProcess } from "./churning-process.js";

const objects = 1000;
const secondsPerDay = 86_400;

/** What recordings and samples cost. Ten minutes of a churning process are recorded as fast as they can be, and extrapolated. */
export async function benchRecordings(isQuick: boolean): Promise<Row[]> {
  const seconds = isQuick ? 120 : 600;
  return [await recordingSize(0.3, seconds), await recordingSize(1, seconds), await sampleCost(isQuick ? 50 : 200)];
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
