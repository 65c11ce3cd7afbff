import { onTestFinished } from "vitest";
import { main, type RunSetting } from "./command.test.helper.js";

/** A command that runs in this process, and its output so far. */
export interface RunningCommand {
  readonly stdout: string;
  readonly stderr: string;
  /** Stops it, and what was started after it in this process, as Ctrl-C does; resolves with its exit code. */
  stop(): Promise<number>;
}

/**
 * Starts a command in this process, and resolves when it has printed something on standard output. It ends with the
 * test. `startCommand` starts a process, for tests of its end or its signals.
 */
export async function runMeanwhile(
  argv: readonly string[],
  { env = {} }: Pick<RunSetting, "env"> = {},
): Promise<RunningCommand> {
  let stdout = "";
  let stderr = "";
  let onPrinted = (): void => {};
  // Those of others, such as Playwright's, which ends this process.
  const others = new Set(process.listeners("SIGINT"));
  const printed = new Promise<void>((resolve) => {
    onPrinted = resolve;
  });
  const ended = main(argv, {
    stdout: {
      write(text) {
        stdout += text;
        onPrinted();
      },
    },
    stderr: {
      write: (text) => {
        stderr += text;
      },
    },
    env,
    now: () => new Date(),
  });
  const stop = (): Promise<number> => {
    for (const listener of process.listeners("SIGINT")) if (!others.has(listener)) listener("SIGINT");
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  const failed = ended.then((code) => {
    throw new Error(`The command ended with code ${code}.\n${stdout}${stderr}`);
  });
  failed.catch(() => {});
  await Promise.race([printed, failed]);
  return {
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    stop,
  };
}

/** A gateway that runs in this process. */
export interface RunningGateway extends RunningCommand {
  /** Of a gateway with --json. */
  readonly endpoint: string;
  /** Of one with --json --print-token. */
  readonly token: string;
}

/** Runs `wirescope up` in this process; resolves when it is ready. It ends with the test. */
export async function runGateway(
  options: readonly string[],
  setting: Pick<RunSetting, "env">,
): Promise<RunningGateway> {
  const run = await runMeanwhile(["up", "--port", "0", ...options], setting);
  const { endpoint, token } = options.includes("--json") ? JSON.parse(run.stdout) : {};
  return Object.assign(run, { endpoint, token });
}
