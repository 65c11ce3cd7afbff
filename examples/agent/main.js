import { openToolServers, textOf } from "@wirescope/tool-server";
import { createTerminalSignIn } from "@wirescope/tool-server/auth";

const { MODEL_URL = "http://127.0.0.1:11434/v1", MODEL = "qwen3", MODEL_KEY = "" } = process.env;
const [question = "Which tools do you have?"] = process.argv.slice(2);

const servers = await openToolServers(import.meta.dirname, { oauth: { signIn: createTerminalSignIn() } });

/** The tools of all servers that work, by the name that the model uses. */
const tools = new Map();
for (const { name } of await servers.status()) {
  try {
    const server = await servers.open(name);
    for (const tool of (await server.listTools()).tools) tools.set(`${name}__${tool.name}`, { server, tool });
  } catch (error) {
    console.error(error.message);
  }
}

/** The next message of the model, from any server with the API for chat completions. */
async function ask(messages) {
  const functions = [...tools].map(([name, { tool }]) => ({
    type: "function",
    function: { name, description: tool.description, parameters: tool.inputSchema },
  }));
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${MODEL_KEY}` },
    body: JSON.stringify({ model: MODEL, messages, ...(functions.length > 0 && { tools: functions }) }),
  });
  if (!response.ok) throw new Error(`The model returned ${response.status}: ${await response.text()}`);
  return (await response.json()).choices[0].message;
}

/** Calls a tool. An error is for the model too, which may correct its arguments or do without the tool. */
async function call({ name, arguments: json }) {
  const found = tools.get(name);
  if (found === undefined) return `There is no tool ${name}.`;
  try {
    const params = { name: found.tool.name, arguments: JSON.parse(json || "{}") };
    return textOf(await found.server.callTool(params, { totalTimeoutMs: 120_000 }));
  } catch (error) {
    return `The call failed: ${error.message}`;
  }
}

try {
  const messages = [{ role: "user", content: question }];
  for (let turn = 0; turn < 20; turn += 1) {
    const message = await ask(messages);
    messages.push(message);
    if (!message.tool_calls?.length) {
      console.log(message.content);
      break;
    }
    for (const { id, function: chosen } of message.tool_calls) {
      console.error(`${chosen.name} ${chosen.arguments}`);
      messages.push({ role: "tool", tool_call_id: id, content: await call(chosen) });
    }
  }
} finally {
  await servers.close();
}
