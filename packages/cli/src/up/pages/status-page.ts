import type { Channel } from "@wirescope/channelz";
import { formatRelative, timeOf } from "@wirescope/channelz/internal/text";
import type { ServerStatus } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import { type Html, html, type PlainPages, pageHeaders, pageOf, statusPathOf } from "@wirescope/gateway/internal/page";
import { statusText } from "../../output/server-status.js";
import { type ServerCommands, type ToDo, toDoOf } from "../to-do.js";
import { sendSignInPage, signInPath, signInPathOf } from "./sign-in-page.js";

/** The refresh interval of the page in seconds. */
const refreshS = 10;
const maxEvents = 6;

/**
 * The pages that need no JavaScript: the state of each server with its recent events, its error and how to fix it, and the sign-in to a
 * server.
 */
export function createPlainPages(gateway: () => Gateway, commands: ServerCommands): PlainPages {
  return async (request, response) => {
    const running = gateway();
    if (request.path === signInPath) {
      const returnTo = `${running.url}${statusPathOf(request.key)}`;
      await sendSignInPage(running, { ...request, returnTo }, response);
      return true;
    }
    if (request.path !== "") return false;
    const { registry, endpoint = "", address = "" } = running;
    const { walkTopChannels } = await import("@wirescope/channelz/client");
    const channels = new Map<string, Channel>();
    for await (const channel of walkTopChannels(registry)) channels.set(channel.ref?.name ?? "", channel);
    const servers = running.servers();
    const todo = new Map(
      toDoOf(servers, commands, (server) => signInPathOf(request.key, server)).map((each) => [each.server, each]),
    );
    const now = new Date();
    const body = html`<h1>${summaryOf(servers)}</h1>
<dl><dt>Endpoint</dt><dd><code>${endpoint}</code></dd><dt>Channelz</dt><dd><code>${address}</code></dd></dl>
${servers.map((server) => serverPart(server, channels.get(server.name), todo.get(server.name), now))}
<footer>As of ${now.toISOString()}; refreshes every ${refreshS} s. More in a terminal: <code>${commands.program} tree</code></footer>`;
    const refresh = html`<meta http-equiv="refresh" content="${refreshS}">`;
    response.writeHead(200, pageHeaders).end(pageOf("Wirescope", body, refresh));
    return true;
  };
}

function summaryOf(servers: readonly ServerStatus[]): string {
  const ready = servers.filter(({ state }) => state === "READY").length;
  return `${ready} of ${servers.length} tool ${servers.length === 1 ? "server" : "servers"} connected`;
}

function serverPart(status: ServerStatus, channel: Channel | undefined, todo: ToDo | undefined, now: Date): Html {
  const { name, state, tools, credential, target, server, failure } = status;
  const { data } = channel ?? {};
  const rows: [string, string][] = [["Target", target ?? "not known yet"]];
  if (credential !== undefined) rows.push(["Auth", credential]);
  if (server !== undefined) rows.push(["Software", [server.name, server.version].filter(Boolean).join(" ")]);
  if (tools !== undefined) rows.push(["Tools", String(tools)]);
  if (data !== undefined) {
    const last = formatRelative(timeOf(data.lastCallStartedTimestamp), now);
    rows.push(["Calls", `${data.callsStarted}, ${data.callsFailed} failed; last call ${last}`]);
  }
  if (failure !== undefined) {
    rows.push([state === "READY" ? "Last error" : "Error", failure.message]);
    rows.push(["Since", formatRelative(new Date(failure.at), now)]);
  }
  return html`<section id="${name}"><h2>${name} <span class="state ${state}">${statusText(status)}</span></h2>
${todo === undefined ? html`` : toDoPart(todo)}
<dl>${rows.map(([term, text]) => html`<dt>${term}</dt><dd>${text}</dd>`)}</dl>
${eventsPart(channel, now, todo !== undefined)}</section>
`;
}

function toDoPart({ problem, command }: ToDo): Html {
  const way = command.startsWith("/") ? html`<a href="${command}">Sign in</a>` : html`<code>${command}</code>`;
  return html`<p class="todo">To do: ${problem} ${way}</p>`;
}

function eventsPart(channel: Channel | undefined, now: Date, isOpen: boolean): Html {
  const events = channel?.data?.trace?.events.slice(-maxEvents).reverse() ?? [];
  if (events.length === 0) return html``;
  return html`<details${isOpen ? html` open` : html``}><summary>Recent events</summary><ol>${events.map(
    ({ timestamp, description }) =>
      html`<li><time>${formatRelative(timeOf(timestamp), now)}</time><span>${description}</span></li>`,
  )}</ol></details>`;
}
