import { printableText } from "@wirescope/channelz/internal";
import type { ServerStatus } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import type { PageAccess } from "@wirescope/gateway/internal/page";
import { authText } from "@wirescope/gateway/internal/status-text";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { createScreen, type Screen } from "../output/screen.js";
import { statusPaint, statusText } from "../output/server-status.js";
import { type Column, renderTable } from "../output/table.js";
import { wrap } from "../output/text-layout.js";
import { commandsWithoutFile } from "./announce.js";
import { type PrintedLinks, printedLinks } from "./pages/link-page.js";
import { type ServerCommands, type ToDo, toDoOf } from "./to-do.js";
import type { upOptions } from "./up-options.js";

/** The width of sentences without a terminal; tables then have any width. */
const proseWidth = 80;

/** The content of the notice, in addition to the state of the gateway. */
export interface NoticeContent extends PrintedLinks {
  readonly title: string;
  readonly commands: ServerCommands;
  /** The token if it may be printed, else where to find it. */
  readonly token: string;
  /** Whether arguments and results of calls are captured. */
  readonly isCapturing: boolean;
  /** To-do entries in addition to those of the servers. */
  readonly more: readonly ToDo[];
  /** Commands to try. */
  readonly next: readonly string[];
}

/** The inputs of the notice, in addition to the gateway and the options. */
export interface NoticeParts {
  readonly commands: ServerCommands;
  readonly access: PageAccess;
  readonly more: readonly ToDo[];
  /** The file that announces the gateway and contains its tokens; undefined if it could not be written. */
  readonly gatewayFile: string | undefined;
}

/** Prints the notice, or with --json an object with the addresses and the state of each server. */
export function printUpNotice(
  gateway: Gateway,
  isDemo: boolean,
  values: OptionValues<typeof upOptions>,
  io: Io,
  { commands, access, more, gatewayFile }: NoticeParts,
): void {
  const screen = createScreen(io, values["no-color"]);
  if (values.json) {
    const { endpoint, address: channelz, token, adminToken } = gateway;
    const servers = Object.fromEntries(gateway.servers().map(({ name, state }) => [name, state]));
    const tokens = values["print-token"] ? { token, adminToken } : {};
    screen.print(JSON.stringify({ channelz, endpoint, ...tokens, gatewayFile, servers }));
    return;
  }
  const links = printedLinks(io, access, gateway.url ?? "", commands);
  const title = isDemo ? "The gateway is running with demonstration servers." : "The gateway is running.";
  const token = tokenText(gateway, values, io, gatewayFile);
  const { program } = commands;
  const call = isDemo ? [`${program} call clock now`] : [];
  const next = [`${program} tree`, `${program} tools`, ...call, `${program} channels`];
  const content = { commands, title, ...links, more, token, isCapturing: values.capture, next };
  if (gatewayFile === undefined) {
    // Other commands cannot find the gateway. At a terminal, the link to the page works all the same.
    const printable = io.stdout.isTTY || values["print-token"] ? gateway.token : undefined;
    const without = commandsWithoutFile(gateway, { token: printable, tokenFile: values["token-file"] });
    content.next = [...without.next];
    if (!io.stdout.isTTY) content.page = without.page;
  }
  screen.printAll(upNotice(gateway, content, screen));
}

/** Others may read a pipe, a journal or a build log, so without a terminal the token is printed only with --print-token. */
function tokenText(
  { token }: Gateway,
  values: OptionValues<typeof upOptions>,
  { stdout }: Io,
  gatewayFile: string | undefined,
): string {
  const tokenFile = values["token-file"];
  if (tokenFile !== undefined) return `(from file ${tokenFile})`;
  if (token === undefined) return "none: any program on this machine can call the gateway";
  if (stdout.isTTY || values["print-token"]) return token;
  return gatewayFile === undefined ? "(printed with --print-token)" : `(in ${gatewayFile}, or with --print-token)`;
}

/** What `wirescope up` prints when the gateway is ready: addresses, servers, the to-do list, and the next commands. */
export function upNotice(gateway: Gateway, content: NoticeContent, screen: Screen): string[] {
  const { commands, title, page, signInOf, token, isCapturing, more, next } = content;
  const { palette, width = proseWidth } = screen;
  const servers = gateway.servers();
  const rows: [string, string][] = [
    ["Endpoint", gateway.endpoint ?? "standard input and output"],
    ["Token", token],
    ["Channelz", gateway.address ?? "-"],
    ["Page", page],
  ];
  if (isCapturing) rows.push(["Capture", "on for 15 minutes: arguments and results of calls are kept in memory"]);
  const label = Math.max(...rows.map(([name]) => name.length));
  const lines = [title, "", ...rows.map(([name, text]) => `  ${palette.strong(name.padEnd(label))}  ${text}`), ""];
  if (servers.length === 0) lines.push("No servers are configured.", "");
  else lines.push(...renderTable(columns(screen), servers, screen.width), "");
  const slow = servers.filter(({ state }) => state === "CONNECTING").map(({ name }) => name);
  if (slow.length > 0) {
    const text = `Still connecting: ${slow.join(", ")}. See the page or the log for the result.`;
    lines.push(...wrap(printableText(text), width, ""), "");
  }
  const todo = [...toDoOf(servers, commands, signInOf), ...more];
  if (todo.length > 0) {
    lines.push(palette.warning("To do:"));
    for (const { server, problem, command } of todo) {
      lines.push(
        ...wrap(printableText(`${server}: ${problem}`), width, "  "),
        `    ${palette.strong(printableText(command))}`,
      );
    }
    lines.push("");
  }
  lines.push(
    "Try from another terminal:",
    "",
    ...next.map((command) => `  ${printableText(command)}`),
    "",
    "Press Ctrl-C to stop.",
  );
  return lines;
}

function columns({ palette }: Screen): Column<ServerStatus>[] {
  return [
    { title: "SERVER", minWidth: 8, text: ({ name }) => name, paint: () => palette.strong },
    {
      title: "STATUS",
      minWidth: 19,
      text: statusText,
      paint: (status) => statusPaint(status, palette),
    },
    { title: "TOOLS", align: "right", text: ({ tools }) => (tools === undefined ? "-" : String(tools)) },
    {
      title: "AUTH",
      minWidth: 12,
      text: (server) => authText(server, server.credential, server.authentication?.oauth?.isSignedIn),
    },
    { title: "TARGET", minWidth: 12, text: ({ target }) => target ?? "-" },
  ];
}
