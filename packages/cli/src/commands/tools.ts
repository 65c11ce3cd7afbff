import type { Tool } from "@wirescope/tool-server";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { type AdHocServer, adHocCommandLine } from "../tool-server/ad-hoc-server.js";
import { renderTool } from "../tool-server/render-tool.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

interface Row {
  readonly server: string;
  readonly tool: Tool;
}

/** Lists tools, or shows one. */
export const toolsCommand: Command = defineServerCommand({
  name: "tools",
  summary: "list the tools of all servers or of one, or show the arguments of a tool",
  parameters: ["[server|url]", "[tool]"],
  options: {},
  notes: [
    "A url in place of the name, or a command after --, needs no configuration: wirescope tools -- npx some-server.",
    "If a server fails, the error goes to standard error, the other servers are listed, and the exit code is 1.",
  ],
  async use(context) {
    const { servers, screen, positionals, adHoc } = context;
    const { printListing } = await import("../tool-server/each-server.js");
    const [server, name] = positionals;
    return printListing(context, {
      names: servers.namesOf(server),
      methods: ["tools/list"],
      async task(connection) {
        const { tools } = await connection.listTools();
        return name === undefined ? tools : [findTool(tools, name)];
      },
      toJson: (tools) => ({ tools }),
      rowsOf: (tools, from): Row[] => tools.map((tool) => ({ server: from, tool })),
      render: (rows) =>
        name === undefined
          ? renderTable(columns(screen).slice(adHoc === undefined ? 0 : 1), rows, screen.width)
          : rows
              .slice(0, 1)
              .flatMap((row) => renderTool((...words) => callLine(row.server, words, adHoc), row.tool, screen)),
      empty: "No tools.",
    });
  },
});

/** The command that calls a tool. */
function callLine(server: string, words: string[], adHoc: AdHocServer | undefined): string {
  return adHoc === undefined ? commandLine("call", server, ...words) : adHocCommandLine("call", adHoc, ...words);
}

/** The tool with this name. Throws a UsageError that lists the available tools. */
export function findTool(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = tools.map((tool) => tool.name);
  const near = suggest(name, names);
  const list = names.length === 0 ? "The server has no tools." : `Available tools: ${names.join(", ")}.`;
  throw new UsageError(`Unknown tool "${name}". ${near === undefined ? list : `Did you mean ${near}?`}`);
}

function columns({ palette }: Screen): Column<Row>[] {
  return [
    { title: "SERVER", minWidth: 8, text: ({ server }) => server, paint: () => palette.faint },
    { title: "TOOL", minWidth: 16, text: ({ tool }) => tool.name, paint: () => palette.strong },
    { title: "DESCRIPTION", minWidth: 16, text: ({ tool }) => firstLine(tool.description ?? tool.title ?? "") },
  ];
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}
