import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type InputRequest,
  type InputRequests,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { textResult } from "./contents.js";
import { contact, defaults, enums } from "./forms.js";

/** What is known of a call between two rounds of questions. */
export interface CallState {
  readonly round: number;
  readonly name?: string;
}

type Form = ElicitRequestFormParams["requestedSchema"];

const form = (message: string, field: string, type: "string" | "boolean"): InputRequest => {
  const requestedSchema = { type: "object", properties: { [field]: { type } }, required: [field] } as Form;
  return inputRequired.elicit({ message, requestedSchema });
};
const question = (words: string, maxTokens: number): InputRequest =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: words } }], maxTokens });
const nameForm = form("What is your name?", "name", "string");

/**
 * The tools that ask the client, in their results: for clients of the older era the SDK makes requests of them, and fails a call
 * whose client cannot respond.
 */
export function registerAskingTools(server: McpServer, codec: RequestStateCodec<CallState>): void {
  const none = z.object({});

  server.registerTool(
    "test_sampling",
    { description: "Has the client sample", inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, { mcpReq: { inputResponses } }) => {
      const input = inputResponse(inputResponses, "sampled");
      if (input.kind !== "sampling") return inputRequired({ inputRequests: { sampled: question(prompt, 100) } });
      const { content } = input.result;
      const [first] = Array.isArray(content) ? content : [content];
      return textResult(`LLM response: ${first?.type === "text" ? first.text : "none"}`);
    },
  );
  const elicit = ({ mcpReq }: ServerContext, message: string, requestedSchema: Form, words: string) => {
    const input = inputResponse(mcpReq.inputResponses, "form");
    if (input.kind !== "elicit") {
      return inputRequired({ inputRequests: { form: inputRequired.elicit({ message, requestedSchema }) } });
    }
    return textResult(`${words}: action=${input.action}, content=${JSON.stringify(input.content ?? {})}`);
  };
  server.registerTool(
    "test_elicitation",
    { description: "Asks the person", inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) => elicit(context, message, contact, "User response"),
  );
  for (const [name, schema] of [
    ["test_elicitation_sep1034_defaults", defaults],
    ["test_elicitation_sep1330_enums", enums],
  ] as const) {
    server.registerTool(name, { description: "Asks the person with a form", inputSchema: none }, (_, context) =>
      elicit(context, "Fill in the form.", schema, "Elicitation completed"),
    );
  }
  server.registerTool(
    "test_missing_capability",
    { description: "Needs a client that can sample", inputSchema: none },
    (_, { mcpReq: { inputResponses } }) => {
      if (inputResponse(inputResponses, "sampled").kind === "sampling") return textResult("The client can sample.");
      return inputRequired({ inputRequests: { sampled: question("Anything", 10) } });
    },
  );

  server.registerTool(
    "test_input_required_result_elicitation",
    { description: "Asks for a name", inputSchema: none },
    (_, { mcpReq: { inputResponses } }) => {
      const name = acceptedContent(inputResponses, "user_name")?.name;
      if (typeof name !== "string") return inputRequired({ inputRequests: { user_name: nameForm } });
      return textResult(`Hello, ${name}!`);
    },
  );
  server.registerTool(
    "test_input_required_result_sampling",
    { description: "Has the client sample", inputSchema: none },
    (_, { mcpReq: { inputResponses } }) => {
      const input = inputResponse(inputResponses, "capital_question");
      if (input.kind === "sampling") return textResult(JSON.stringify(input.result.content));
      return inputRequired({ inputRequests: { capital_question: question("What is the capital of France?", 100) } });
    },
  );
  server.registerTool(
    "test_input_required_result_list_roots",
    { description: "Asks for the roots", inputSchema: none },
    (_, { mcpReq: { inputResponses } }) => {
      const input = inputResponse(inputResponses, "client_roots");
      if (input.kind === "roots") return textResult(input.roots.map(({ uri }) => uri).join(", "));
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    },
  );
  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
    server.registerTool(
      name,
      { description: "Keeps a state with the client", inputSchema: none },
      async (_, context) => {
        const { inputResponses, requestState } = context.mcpReq;
        const state = requestState<CallState>();
        const isConfirmed = inputResponse(inputResponses, "confirm").kind === "elicit";
        if (state?.round === 1 && isConfirmed) return textResult("state-ok: the state came back as it was.");
        return inputRequired({
          inputRequests: { confirm: form("Please confirm", "ok", "boolean") },
          requestState: await codec.mint({ round: 1 }),
        });
      },
    );
  }
  server.registerTool(
    "test_input_required_result_multiple_inputs",
    { description: "Asks three things at once", inputSchema: none },
    async (_, { mcpReq: { inputResponses } }) => {
      const requests = {
        user_name: nameForm,
        greeting: question("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      };
      const isWhole = Object.keys(requests).every((key) => inputResponse(inputResponses, key).kind !== "missing");
      if (isWhole) return textResult("All three got a response.");
      return inputRequired({ inputRequests: requests, requestState: await codec.mint({ round: 1 }) });
    },
  );
  server.registerTool(
    "test_input_required_result_multi_round",
    { description: "Asks one thing after the other", inputSchema: none },
    async (_, { mcpReq: { inputResponses, requestState } }) => {
      const state = requestState<CallState>();
      const name = acceptedContent<{ name: string }>(inputResponses, "step1")?.name;
      const color = acceptedContent<{ color: string }>(inputResponses, "step2")?.color;
      if (state?.round === 2 && color !== undefined) return textResult(`${state.name} likes ${color}.`);
      if (state?.round === 1 && name !== undefined) {
        return inputRequired({
          inputRequests: { step2: form("Step 2: What is your favorite color?", "color", "string") },
          requestState: await codec.mint({ round: 2, name }),
        });
      }
      return inputRequired({
        inputRequests: { step1: form("Step 1: What is your name?", "name", "string") },
        requestState: await codec.mint({ round: 1 }),
      });
    },
  );
  server.registerTool(
    "test_input_required_result_capabilities",
    { description: "Asks only what the client supports", inputSchema: none },
    (_, context) => {
      const { inputResponses } = context.mcpReq;
      if (Object.keys(inputResponses ?? {}).length > 0) return textResult("Done.");
      const can = capabilitiesOf(context);
      const inputRequests: InputRequests = {
        ...(can.elicitation === undefined ? {} : { elicit_input: form("Elicitation input", "value", "string") }),
        ...(can.sampling === undefined ? {} : { sample_input: question("Sample request", 50) }),
      };
      if (Object.keys(inputRequests).length === 0) return textResult("The client supports none of them.");
      return inputRequired({ inputRequests });
    },
  );
}

/** What the client of a request says that it can do, in the newer era. */
function capabilitiesOf({ mcpReq: { envelope } }: ServerContext): ClientCapabilities {
  const given = envelope as Readonly<Record<string, ClientCapabilities | undefined>> | undefined;
  return given?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
}
