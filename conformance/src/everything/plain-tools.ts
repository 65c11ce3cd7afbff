import { setTimeout as sleep } from "node:timers/promises";
import { fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { image, text, textResult, wav } from "./contents.js";

/** How a list is said to have changed. */
export interface Changes {
  toolsChanged(): void;
  promptsChanged(): void;
}

const stepMs = 50;

/** The tools that ask the client for nothing. */
export function registerPlainTools(server: McpServer, changes: Changes): void {
  const none = z.object({});
  server.registerTool("test_simple_text", { description: "Returns text" }, () =>
    textResult("This is a simple text response for testing."),
  );
  server.registerTool("test_image_content", { description: "Returns an image" }, () => ({ content: [image] }));
  server.registerTool("test_audio_content", { description: "Returns a sound" }, () => ({
    content: [{ type: "audio", data: wav, mimeType: "audio/wav" }],
  }));
  server.registerTool("test_embedded_resource", { description: "Returns a resource" }, () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  server.registerTool("test_multiple_content_types", { description: "Returns text, an image and a resource" }, () => ({
    content: [
      text("Multiple content types test:"),
      image,
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 }),
        },
      },
    ],
  }));
  server.registerTool("test_error_handling", { description: "Always fails" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });

  server.registerTool(
    "test_tool_with_logging",
    { description: "Logs while it works", inputSchema: none },
    async (_, { mcpReq }) => {
      for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await mcpReq.log("info", words);
        await sleep(stepMs);
      }
      return textResult("Logged three times.");
    },
  );
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports progress", inputSchema: none },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
        }
        await sleep(stepMs);
      }
      return textResult("Done.");
    },
  );
  server.registerTool(
    "test_reconnection",
    { description: "Ends its stream before the response, which a client gets when it reconnects", inputSchema: none },
    async (_, { http }) => {
      http?.closeSSE?.();
      await sleep(2 * stepMs);
      return textResult("The client came back.");
    },
  );

  server.registerTool(
    "test_streaming_elicitation",
    { description: "Reports progress before its result", inputSchema: none },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken ?? "none";
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 50, total: 100 } });
      return textResult("Streamed.");
    },
  );
  server.registerTool(
    "test_logging_tool",
    { description: "Logs where the client wants it", inputSchema: none },
    async (_, { mcpReq }) => {
      await mcpReq.log("info", "Logged.");
      return textResult("Logged, or not.");
    },
  );
  server.registerTool("test_trigger_tool_change", { description: "Says that the tools have changed" }, () => {
    changes.toolsChanged();
    return textResult("Said.");
  });
  server.registerTool("test_trigger_prompt_change", { description: "Says that the prompts have changed" }, () => {
    changes.promptsChanged();
    return textResult("Said.");
  });

  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has a schema of many keywords", inputSchema: fromJsonSchema(manyKeywords) },
    () => textResult("Taken."),
  );
  server.registerTool(
    "test_custom_header",
    {
      description: "Wants an argument as a header as well",
      inputSchema: fromJsonSchema<{ region: string }>(headerArgument),
    },
    ({ region }) => textResult(region),
  );
}

const manyKeywords = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const headerArgument = {
  type: "object" as const,
  properties: { region: { type: "string", "x-mcp-header": "Region" } },
  required: ["region"],
};
