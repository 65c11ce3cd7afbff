import { performance } from "node:perf_hooks";
import { printableText } from "@wirescope/channelz/internal";
import type { ServerDescription } from "@wirescope/tool-server";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

interface Pong {
  readonly connectMs: number;
  readonly pingMs: number;
  readonly server: Pick<ServerDescription, "name" | "version" | "protocolVersion">;
}

/** Connects to servers and pings them. */
export const pingCommand: Command = defineServerCommand({
  name: "ping",
  summary: "connect to servers and measure their response time",
  parameters: ["[server|url]"],
  options: {},
  async use(context) {
    const { servers, screen, positionals } = context;
    const { printListing } = await import("../tool-server/each-server.js");
    return printListing(context, {
      names: servers.namesOf(positionals[0]),
      async task(connection): Promise<Pong> {
        const start = performance.now();
        const server = await connection.connect();
        const connected = performance.now();
        return { server, connectMs: connected - start, pingMs: await connection.ping() };
      },
      toJson: (pong) => pong,
      rowsOf: (pong, name) => [{ name, ...pong }],
      render: (rows) => renderTable(columns(screen), rows, screen.width),
      empty: "No servers.",
    });
  },
});

function columns({ palette }: Screen): Column<Pong & { readonly name: string }>[] {
  const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return [
    { title: "SERVER", minWidth: 8, text: ({ name }) => name, paint: () => palette.strong },
    { title: "PING", align: "right", text: ({ pingMs }) => ms(pingMs), paint: () => palette.good },
    { title: "CONNECT", align: "right", text: ({ connectMs }) => ms(connectMs) },
    { title: "PROTOCOL", minWidth: 10, text: ({ server }) => server.protocolVersion },
    {
      title: "SOFTWARE",
      minWidth: 10,
      text: ({ server }) => printableText([server.name ?? "-", server.version].filter(Boolean).join(" ")),
    },
  ];
}
