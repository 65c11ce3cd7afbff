import { acceptedContent, completable, inputRequired, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { image, text } from "./contents.js";

const words = ["paris", "park", "party"];

export function registerPrompts(server: McpServer): void {
  const user = <Content>(content: Content): { role: "user"; content: Content } => ({ role: "user", content });
  const argument = completable(z.string(), (value) => words.filter((word) => word.startsWith(value)));

  server.registerPrompt("test_simple_prompt", { description: "Text" }, () => ({
    messages: [user(text("This is a simple prompt for testing."))],
  }));
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Text with two arguments", argsSchema: z.object({ arg1: argument, arg2: argument }) },
    ({ arg1, arg2 }) => ({ messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))] }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        user({
          type: "resource",
          resource: { uri, mimeType: "text/plain", text: "Embedded resource content for testing." },
        }),
        user(text("Please process the embedded resource above.")),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "An image" }, () => ({
    messages: [user(image), user(text("Please analyze the image above."))],
  }));
  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks for its context first", argsSchema: z.object({}) },
    (_, { mcpReq: { inputResponses } }) => {
      const context = acceptedContent(inputResponses, "user_context")?.context;
      if (typeof context === "string") return { messages: [user(text(`In the context of ${context}.`))] };
      const requestedSchema = {
        type: "object" as const,
        properties: { context: { type: "string" as const } },
        required: ["context"],
      };
      const form = inputRequired.elicit({ message: "What context should the prompt use?", requestedSchema });
      return inputRequired({ inputRequests: { user_context: form } });
    },
  );
}
