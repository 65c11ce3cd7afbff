import { styleText } from "node:util";
import { ChannelzError, createRegistry, listenChannelz } from "@wirescope/channelz";
import { type DemoPlaces, demoNotice } from "./demo-notice.js";
import { type DemoOptions, demoHelp, parseDemoOptions } from "./demo-options.js";
import { openGreeterChannel } from "./greeter-channel.js";
import { startGreeterServer } from "./greeter-server.js";
import { keepCalling } from "./traffic.js";

// Port 1 is a privileged port that no system uses any more, so a connection to it is refused.
const nobody = "127.0.0.1:1";
const closeDeadlineMs = 2000;

/**
 * Runs the demonstration until SIGTERM or SIGINT, and gives the exit code: 0, 1 when it cannot start, 2 for a wrong option.
 * What it says about options begins with `calledAs`, by default `npm start --`.
 */
export async function runDemo(args: readonly string[], calledAs = "npm start --"): Promise<number> {
  let options: DemoOptions;
  try {
    options = parseDemoOptions(args);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\nRun ${calledAs} --help for the options.\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(demoHelp(calledAs));
    return 0;
  }
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  // Once: who sends a second signal has lost patience, and gets the default.
  process.once("SIGTERM", onSignal).once("SIGINT", onSignal);
  try {
    await runUntil(stop, options);
    return 0;
  } catch (error) {
    if (!ChannelzError.is(error, "LISTEN_FAILED")) throw error;
    process.stderr.write(`${error.message}\nAnother port: ${calledAs} --port <number>; --port 0 takes a free one.\n`);
    return 1;
  } finally {
    process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
  }
}

async function runUntil(stop: AbortController, options: DemoOptions): Promise<void> {
  const registry = createRegistry();
  const listener = await listenChannelz(registry, { host: "127.0.0.1", port: options.port });
  const server = await startGreeterServer(registry);
  const greeter = openGreeterChannel(registry, "greeter", server.address);
  const lonely = openGreeterChannel(registry, "nobody", nobody);
  const traffic = [keepCalling(greeter, 250, stop.signal), keepCalling(lonely, 2000, stop.signal)];
  if (!stop.signal.aborted) announce({ channelz: listener.address, greeter: server.address, nobody }, options);
  try {
    await Promise.all(traffic);
  } finally {
    stop.abort();
    await Promise.allSettled(traffic);
    await Promise.all([greeter.close(), lonely.close()]);
    await server.close(closeDeadlineMs);
    await listener.close({ deadlineMs: closeDeadlineMs });
  }
}

function announce(places: DemoPlaces, { json }: DemoOptions): void {
  const bold = process.stdout.isTTY && !process.env.NO_COLOR ? (text: string) => styleText("bold", text) : String;
  process.stdout.write(json ? `${JSON.stringify(places)}\n` : demoNotice(places, bold));
}
