import { connectToolServer } from "@wirescope/tool-server";

const [url = "http://127.0.0.1:4690/mcp"] = process.argv.slice(2);
const { TOKEN } = process.env;

const server = await connectToolServer({ url, headers: TOKEN ? { Authorization: `Bearer ${TOKEN}` } : {} });
try {
  const { tools } = await server.listTools();
  for (const { name } of tools) console.log(name);
} finally {
  await server.close();
}
