import { type Clock, systemClock } from "../../clock.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createStdioTransport, type StdioContext, type StdioTransport } from "./stdio-transport.js";
import { createTestContext } from "./transport-context.test.helper.js";
import { type WatchedTransport, watchTransport } from "./watched-transport.test.helper.js";

/** Time runs twenty times as fast, for tests that only wait for the time limits of a stubborn child. */
export const hasty: { readonly clock: Clock } = { clock: createHastyClock(20) };

function createHastyClock(factor: number): Clock {
  const startedAt = Date.now();
  return {
    now: () => startedAt + (Date.now() - startedAt) * factor,
    after: (delayMs, wake) => systemClock.after(delayMs / factor, wake),
  };
}

type Changes = Partial<StdioContext> & { readonly secrets?: never; readonly secret?: string };

/** A child that was started, and the folder that it runs in. */
export interface StartedChild extends WatchedTransport<StdioTransport> {
  readonly folder: string;
}

/** A transport to a command, which is not started yet. */
export function prepareChild(command: string, { secret, ...changes }: Changes = {}): WatchedTransport<StdioTransport> {
  const context = createTestContext("stdio", changes);
  if (secret !== undefined) context.secrets.add(secret);
  const transport = createStdioTransport({ args: [], environment: process.env, ...changes, ...context, command });
  return watchTransport(transport, context);
}

/** A transport to a shell script, started. */
export function startShell(body: string, changes: Changes = {}): Promise<StartedChild> {
  return startScript("sh", body, changes);
}

/** A transport to a script for Node, started. */
export function startNode(body: string, changes: Changes = {}): Promise<StartedChild> {
  return startScript("node", body, changes);
}

async function startScript(language: "sh" | "node", body: string, changes: Changes): Promise<StartedChild> {
  const folder = await createScriptFolder();
  const child = prepareChild(await folder[language](body), { cwd: folder.path, ...changes });
  await child.transport.start();
  return { ...child, folder: folder.path };
}
