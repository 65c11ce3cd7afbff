import { interruptible } from "../interruption.js";
import { formatJson, jsonOf } from "../output/json.js";
import { createProgressLine } from "../output/progress-line.js";
import { parseCallArguments } from "../tool-server/call-arguments.js";
import { renderContent, saveInto } from "../tool-server/render-content.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";
import { findTool } from "./tools.js";

/** Calls a tool. */
export const callCommand: Command = defineServerCommand({
  name: "call",
  summary: "call a tool and print its result",
  parameters: ["<server|url>", "<tool>", "[json | key=value …]"],
  options: {
    save: {
      type: "string",
      placeholder: "directory",
      help: "folder for images and other binary results; default: the current folder",
    },
  },
  notes: [
    "Arguments are one JSON object, or key=value pairs, which are converted to the types in the schema of the tool.",
    "key:=json passes JSON, key=@file passes the content of a file, and a repeated key makes a list.",
    "A url in place of the name needs no configuration, nor does a command after the arguments: call <tool> … -- <command>.",
    "If the tool reports an error, the exit code is 1.",
  ],
  async use({ servers, screen, io, values, positionals }) {
    const [server = "", name = "", ...words] = positionals;
    const connection = await servers.open(server);
    const { tools } = await connection.listTools();
    const given = parseCallArguments(words, findTool(tools, name).inputSchema);
    const progress = createProgressLine(io);
    const result = await interruptible(`The call of ${name} was interrupted.`, (signal) =>
      connection
        .callTool({ name, arguments: given }, { onProgress: progress.show, signal })
        .finally(() => progress.end()),
    );
    if (values.json) {
      screen.print(formatJson(jsonOf(result)));
    } else {
      const content = result.content ?? [];
      screen.printAll(renderContent(content, screen.palette, saveInto(values.save ?? ".", name)));
      if (result.structuredContent !== undefined && !content.some(({ type }) => type === "text")) {
        screen.print(formatJson(jsonOf(result.structuredContent)));
      }
    }
    return result.isError ? 1 : 0;
  },
});
