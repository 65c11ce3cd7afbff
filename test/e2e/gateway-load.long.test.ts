import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const soak = fileURLToPath(new URL("../../benchmarks/dist/soak/main.js", import.meta.url));

/** A short run of `npm run bench -- soak`. Its gateway is a separate process, so that its resources can be counted. */
test.skipIf(process.platform !== "linux")(
  "sends every response to its caller and leaves no socket, process, object or memory behind under load, while servers are killed and the configuration changes",
  async () => {
    const size = ["--clients", "120", "--servers", "12", "--seconds", "5", "--reloads", "3", "--kills", "5"];
    const args = [soak, "--json", "--think", "150", "--session-idle", "0", ...size];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: { stdout: string }) => error);
    const { counts, faults } = JSON.parse(stdout);
    expect(faults).toEqual([]);
    expect(counts.kills).toBeGreaterThan(0);
    expect(counts.reloads).toBeGreaterThan(0);
    for (const kind of ["responses", "cancels", "questions", "steps", "vanishes"]) {
      expect(counts[kind], kind).toBeGreaterThan(0);
    }
  },
  240_000,
);
