import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { childEnvironment } from "./child-environment.js";
import { median } from "./compare.js";
import { figure, type Row } from "./report.js";

const starts = 9;
const maxMs = 250;

/** The commands that read Channelz: from the start of a command to its first output. */
export async function benchToolbox(): Promise<Row[]> {
  const registry = createRegistry();
  // The registry releases what an application drops.
  const held = Array.from({ length: 500 }, (_, n) => {
    const channel = registry.addChannel({ target: `dns:///service-${n}.example:443` });
    channel.setState("CONNECTING");
    channel.setState(n % 50 === 0 ? "TRANSIENT_FAILURE" : "READY");
    return channel;
  });
  const listener = await listenChannelz(registry);
  const command = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));
  try {
    const node = await medianStart(["-e", "process.stdout.write('x')"]);
    const rows: Row[] = [];
    for (const verb of ["channels", "summary"]) {
      const ms = await medianStart([command, verb, "--target", listener.address]);
      rows.push({
        work: `wirescope ${verb}: ${held.length} channels, start to first output (right: node alone)`,
        ours: `${figure(ms)} ms`,
        theirs: `${figure(node)} ms`,
        ratio: ms / node,
        goal: verb === "channels" ? `at most ${maxMs} ms` : "",
        ...(verb === "channels" && { isMet: ms <= maxMs }),
      });
    }
    return rows;
  } finally {
    await listener.close();
  }
}

async function medianStart(args: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let round = -1; round < starts; round += 1) {
    const startedAt = performance.now();
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env: childEnvironment() });
    const ended = once(child, "close");
    await once(child.stdout, "data");
    // The first one fills the cache of compiled code.
    if (round >= 0) times.push(performance.now() - startedAt);
    child.stdout.resume();
    await ended;
  }
  return median(times);
}
