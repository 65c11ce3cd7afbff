import { performance } from "node:perf_hooks";
import { printableText } from "@wirescope/channelz/internal";
import type { ServerDescription } from "@wirescope/tool-server";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { jsonOf } from "../tool-server/json-of.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

interface Pong {
  readonly connectMs: number;
  readonly pingMs: number;
  readonly server: ServerDescription;
}

/** Connects to servers and pings them. */
export const pingCommand: Command = defineServerCommand({
  name: "ping",
  summary: "connect to servers and measure their response time",
  parameters: ["[server]"],
  options: {},
  async use({ servers, screen, io, values, positionals }) {
    const { outcomeToJson, reportFailedServers, withEachServer } = await import("../tool-server/each-server.js");
    const outcomes = await withEachServer(
      servers,
      servers.namesOf(positionals[0]),
      async (connection): Promise<Pong> => {
        const start = performance.now();
        const server = await connection.connect();
        const connected = performance.now();
        await connection.ping();
        return { server, connectMs: connected - start, pingMs: performance.now() - connected };
      },
    );
    if (values.json) {
      const all = outcomes.map((outcome) => [outcome.server, outcomeToJson(outcome, (pong) => pong)]);
      screen.print(formatJson(jsonOf(Object.fromEntries(all))));
      return outcomes.some((outcome) => "error" in outcome) ? 1 : 0;
    }
    const hasFailed = reportFailedServers(outcomes, io);
    const rows = outcomes.flatMap((outcome) =>
      "value" in outcome ? [{ name: outcome.server, ...outcome.value }] : [],
    );
    if (rows.length > 0) screen.printAll(renderTable(columns(screen), rows, screen.width));
    return hasFailed ? 1 : 0;
  },
});

function columns({ palette }: Screen): Column<Pong & { readonly name: string }>[] {
  const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return [
    { title: "SERVER", least: 8, text: ({ name }) => name, paint: () => palette.strong },
    { title: "PING", align: "right", text: ({ pingMs }) => ms(pingMs), paint: () => palette.good },
    { title: "CONNECT", align: "right", text: ({ connectMs }) => ms(connectMs) },
    { title: "PROTOCOL", least: 10, text: ({ server }) => server.protocolVersion },
    {
      title: "IS",
      least: 10,
      text: ({ server }) => printableText([server.name ?? "-", server.version].filter(Boolean).join(" ")),
    },
  ];
}
