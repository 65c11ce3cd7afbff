import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { programOf } from "./e2e/program.test.helper.js";

/** A page of the documentation that lists the files of a path. */
export interface PathPage {
  readonly text: string;
  readonly files: readonly string[];
  /** Whether the page names this file, or its folder, as not counted. */
  isNotCounted(path: string): boolean;
}

export function readPathPage(name: string): PathPage {
  const text = readFileSync(new URL(`../docs/${name}`, import.meta.url), "utf8");
  const [, notCounted = ""] = /\n## Not counted\n([^#]+)/.exec(text) ?? [];
  const others = [...notCounted.matchAll(/`([\w-]+\/src\/[^`]*)`/g)].map(([, path]) => path ?? "");
  return {
    text,
    files: [...text.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path]) => path ?? ""),
    // A folder ends with a slash.
    isNotCounted: (path) => others.some((other) => (other.endsWith("/") ? path.startsWith(other) : path === other)),
  };
}

/** A gateway in its own process, which reports which of its files ran. Ends with the test. */
export interface TracedGateway {
  readonly endpoint: string;
  readonly token: string;
  /** The files with a function that ran since the last call. */
  takeFiles(): Promise<readonly string[]>;
  /** Signs in to a server; `browse` opens the URL. Returns the files that ran from the click until the tokens were stored. */
  signIn(server: string, browse: (url: string) => Promise<unknown>): Promise<readonly string[]>;
}

interface Reported {
  readonly files?: readonly string[];
  /** The URL for the browser. */
  readonly prompt?: string;
}

export async function startTracedGateway(servers: object, vaultFolder?: string): Promise<TracedGateway> {
  const program = await programOf(new URL("traced-gateway.test.helper.ts", import.meta.url));
  const folders = vaultFolder === undefined ? [] : [vaultFolder];
  const gateway = fork(program, [JSON.stringify(servers), ...folders], { execArgv: [] });
  const exited = once(gateway, "exit");
  onTestFinished(async () => {
    if (gateway.connected) gateway.disconnect();
    await exited;
  });
  const ended = exited.then(() => {
    throw new Error("The gateway ended; its standard error says why.");
  });
  ended.catch(() => {});
  const next = async <Message>(): Promise<Message> =>
    (await Promise.race([once(gateway, "message"), ended]))[0] as Message;
  const { endpoint, token } = await next<{ endpoint: string; token: string }>();
  const signIn: TracedGateway["signIn"] = async (server, browse) => {
    const response = next<Reported>();
    gateway.send(server);
    let { files, prompt } = await response;
    while (files === undefined) {
      const after = next<Reported>();
      await browse(prompt ?? "");
      ({ files, prompt } = await after);
    }
    return files;
  };
  return { endpoint, token, takeFiles: () => signIn("", async () => {}), signIn };
}
