import { randomBytes } from "node:crypto";
import type { Source } from "@wirescope/channelz";
import { printableText } from "@wirescope/channelz/internal";
import { listenChannelz } from "@wirescope/channelz/listener";
import type { TimelineServiceParts } from "@wirescope/channelz/timeline";
import { createPage, createPageAccess, sendMessage } from "@wirescope/gateway/internal/page";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { TargetConnections } from "../connect-by-options.js";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { parsePort } from "../option-values.js";
import { formatJsonLine } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { pageFolder } from "../page-folder.js";
import { openMoment, recordingPrefix } from "../recorded-target.js";
import { version } from "../version.js";

/** Options of the page for other processes. */
export interface TargetPageOptions {
  readonly port: string | undefined;
  readonly json: boolean;
  readonly "no-color": boolean;
  /** Whether the browser is opened. */
  readonly open: boolean;
}

/**
 * Serves the page for processes that speak Channelz, on this machine only, until the signal aborts. The processes are read only while
 * a browser shows the page. Returns the exit code.
 */
export async function serveTargetPage(
  { source, parts }: Pick<TargetConnections, "source" | "parts">,
  options: TargetPageOptions,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  const targets = parts.map(({ source: { target } }) => target);
  const access = createPageAccess();
  const page = createPage({
    access,
    assets: pageFolder,
    isSecure: false,
    info: () => ({
      kind: "target",
      title: targets.length === 1 ? (targets[0] ?? "") : `${targets.length} targets`,
      targets,
      version: version(),
      features: { servers: false, tools: false, calls: false, capture: false },
    }),
    isServed: () => false,
    async plainPages({ path }, response) {
      if (path !== "") return false;
      const command = commandLine("tree", ...targets.flatMap((target) => ["--target", target]));
      sendMessage(response, 200, `This page requires JavaScript. Without it, run ${command} in a terminal.`);
      return true;
    },
  });
  const timeline = await openTimeline(source, targets);
  try {
    await using listener = await listenChannelz(source, {
      port: options.port === undefined ? 0 : parsePort(options.port, "--port"),
      // A random token that is never shown: other programs on this machine get no access, and the browser uses its session.
      token: randomBytes(24).toString("base64url"),
      services: () => timeline,
      admit: page.admit,
      fallback(request, response) {
        const [path = ""] = (request.url ?? "").split("?", 1);
        if (!page.handle(request, response, path)) sendMessage(response, 404, "Page not found.");
      },
    });
    const link = access.linkTo(listener.url);
    print(link, targets, options, io);
    if (options.open) {
      const { openBrowser } = await import("@wirescope/tool-server/internal");
      if (!(await openBrowser(link, io))) io.stderr.write("wirescope: No browser could be opened. Open the link.\n");
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await listener.close({ deadlineMs: 0 });
    return exitCode.ok;
  } finally {
    timeline.close();
  }
}

/** The timeline that the page shows: a whole recording, or samples of the processes. */
async function openTimeline(source: Source, targets: readonly string[]): Promise<Omit<TimelineServiceParts, "watch">> {
  const { createTimelineService, timelineRoutes } = await import("@wirescope/channelz/timeline");
  const target = targets.length === 1 ? targets[0] : undefined;
  if (!target?.startsWith(recordingPrefix)) return createTimelineService(source, { keepsHistory: false, target });
  const { recording } = openMoment(target);
  return { files: [], routes: timelineRoutes({ timeline: recording }), close: recording.close };
}

function print(link: string, targets: readonly string[], { json, ...options }: TargetPageOptions, io: Io): void {
  const screen = createScreen(io, options["no-color"]);
  if (json) screen.print(formatJsonLine({ link, targets: [...targets] }));
  else {
    screen.printAll([
      `Page     ${link}`,
      ...targets.map((target, index) => `${index === 0 ? "Target   " : "         "}${printableText(target)}`),
      "The link works once, within 10 minutes. Press Ctrl-C to stop.",
    ]);
  }
}
