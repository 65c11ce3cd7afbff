import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { runCommand } from "./command.test.helper.js";
import { runMeanwhile } from "./running-command.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

const example = fileURLToPath(new URL("../../examples/outage/main.js", import.meta.url));
const page = readFileSync(new URL("../../docs/on-call.md", import.meta.url), "utf8");
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** The arguments of the command on the page that begins like this. */
function argumentsOf(beginning: string): string[] {
  const lines = page.split("\n").map((line) => line.replace(/^\$ /, ""));
  const line = lines.find((each) => each.startsWith(`wirescope ${beginning}`));
  if (line === undefined) throw new Error(`The page has no command "wirescope ${beginning}".`);
  return line.split(" ").slice(1);
}

test.skipIf(!hasOpenssl)(
  "the commands of the page On call get from the alert to the causes and past the outage",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "on-call-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const recording = join(folder, "outage.wsr");
    const stockPort = String(await freePort());
    const env = { PATH: process.env.PATH, HOME: folder, PORT: "0", STOCK_PORT: stockPort };
    const orders = startProcess(process.execPath, [example], { env });
    const [, target = ""] = /^Channelz (.*)\n/.exec(await untilPrinted(orders, /\n/)) ?? [];
    const here = (beginning: string): string[] =>
      argumentsOf(beginning).map((argument) =>
        argument
          .replace("127.0.0.1:50051", target)
          .replace("50061", stockPort)
          .replace("outage.wsr", recording)
          .replace("@-15s", "@+1s"),
      );
    const run = (beginning: string) => runCommand(here(beginning), { env: { HOME: folder } });

    const exporter = await runMeanwhile([...here("export"), "--listen", "127.0.0.1:0"], { env });
    const [metrics = ""] = /http\S+metrics/.exec(exporter.stdout) ?? [];
    const read = async (): Promise<string> => (await fetch(metrics)).text();
    await expect.poll(read).toMatch(/^channelz_channels\{.*TRANSIENT_FAILURE"\} 1$/m);

    const recorder = run("record");
    await expect.poll(() => existsSync(recording)).toBe(true);
    const reason = `connect ECONNREFUSED 127.0.0.1:${stockPort}`;
    const { stdout: summary } = await run("summary");
    expect(summary).toContain(reason);
    expect(summary).toContain("CN=billing");
    expect((await run("channels --failing")).stdout).toContain(reason);
    const { stdout: findings } = await run("explain");
    for (const rule of ["failing-target", "failing-calls", "flow-control-stall"])
      expect(findings).toContain(`(${rule})`);
    expect((await run("show 5")).stdout).toContain(reason);
    expect((await run("show 8")).stdout).toMatch(/local window +0 bytes/);

    const watched = run("watch");
    startProcess(process.execPath, [example, "stock"], { env });
    expect(await watched).toMatchObject({ code: 0, stdout: expect.stringContaining("TRANSIENT_FAILURE → READY") });

    // The recorder reads each second: its file has the recovery with the next sample.
    await expect
      .poll(async () => (await runCommand(["channels", "--target", `file:${recording}`])).stdout)
      .toContain("2 READY");
    // As Ctrl-C does, also for the recorder.
    await exporter.stop();
    expect(await recorder).toMatchObject({ code: 0, stdout: expect.stringContaining("Recorded") });
    expect((await run("diff")).stdout).toMatch(/^channel +4 .* TRANSIENT_FAILURE +READY$/m);
  },
);
