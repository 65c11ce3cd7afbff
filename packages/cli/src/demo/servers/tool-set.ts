/** A tool of the demonstration. */
export interface DemoTool {
  readonly name: string;
  readonly description: string;
  /** The names of its arguments, which are all strings. */
  readonly parameters: readonly string[];
  call(args: Readonly<Record<string, unknown>>): string | Promise<string>;
}

interface Request {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: Readonly<Record<string, unknown>> };
}

/** A minimal server of protocol revision 2025-11-25: the response to a request; undefined for notifications. */
export async function handleRequest(
  name: string,
  tools: readonly DemoTool[],
  request: Request,
): Promise<object | undefined> {
  const { id, method, params } = request;
  if (id === undefined) return undefined;
  const result = await resultOf(name, tools, method, params);
  if (result !== undefined) return { jsonrpc: "2.0", id, result };
  return { jsonrpc: "2.0", id, error: { code: -32_601, message: `Unknown method ${String(method)}.` } };
}

async function resultOf(
  name: string,
  tools: readonly DemoTool[],
  method: string | undefined,
  params: Request["params"],
): Promise<object | undefined> {
  switch (method) {
    case "initialize":
      return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name, version: "1.0.0" } };
    case "ping":
      return {};
    case "tools/list":
      return { tools: tools.map(definitionOf) };
    case "tools/call":
      return callTool(tools, params);
    default:
      return undefined;
  }
}

async function callTool(tools: readonly DemoTool[], params: Request["params"]): Promise<object> {
  const tool = tools.find((candidate) => candidate.name === params?.name);
  const text = tool === undefined ? `Unknown tool ${String(params?.name)}.` : await tool.call(params?.arguments ?? {});
  return { content: [{ type: "text", text }], ...(tool === undefined ? { isError: true } : {}) };
}

function definitionOf({ name, description, parameters }: DemoTool): object {
  return {
    name,
    description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(parameters.map((parameter) => [parameter, { type: "string" }])),
      required: parameters,
    },
  };
}
