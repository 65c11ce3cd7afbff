import type { Tool } from "@wirescope/tool-server";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { jsonOf } from "../tool-server/json-of.js";
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
  parameters: ["[server]", "[tool]"],
  options: {},
  notes: ["If a server fails, the error goes to standard error, the other servers are listed, and the exit code is 1."],
  async use({ servers, screen, io, values, positionals }) {
    const { outcomeToJson, reportFailedServers, withEachServer } = await import("../tool-server/each-server.js");
    const [server, name] = positionals;
    const outcomes = await withEachServer(servers, servers.namesOf(server), async (connection) => {
      const { tools } = await connection.listTools();
      return name === undefined ? tools : [findTool(tools, name)];
    });
    if (values.json) {
      const all = Object.fromEntries(
        outcomes.map((outcome) => [outcome.server, outcomeToJson(outcome, (tools) => ({ tools }))]),
      );
      screen.print(formatJson(jsonOf(all)));
      return outcomes.some((outcome) => "error" in outcome) ? 1 : 0;
    }
    const hasFailed = reportFailedServers(outcomes, io);
    const rows = outcomes.flatMap((outcome): Row[] =>
      "value" in outcome ? outcome.value.map((tool) => ({ server: outcome.server, tool })) : [],
    );
    const [only] = rows;
    if (name !== undefined && only !== undefined) screen.printAll(renderTool(only.server, only.tool, screen));
    else if (rows.length > 0) screen.printAll(renderTable(columns(screen), rows, screen.width));
    else if (!hasFailed) screen.print("No tools.");
    return hasFailed ? 1 : 0;
  },
});

/** The tool of this name. Throws a UsageError that says which there are. */
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
    { title: "SERVER", least: 8, text: ({ server }) => server, paint: () => palette.faint },
    { title: "TOOL", least: 16, text: ({ tool }) => tool.name, paint: () => palette.strong },
    { title: "DESCRIPTION", least: 16, text: ({ tool }) => firstLine(tool.description ?? tool.title ?? "") },
  ];
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}
