import { connectToolServer } from "@wirescope/tool-server";

// A published server that is installed in this repository. Any command works, such as npx with the name of a package.
const program = new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url);

const server = await connectToolServer({ command: process.execPath, args: [program.pathname, "stdio"] });
try {
  const { content } = await server.callTool({ name: "echo", arguments: { message: "hello" } });
  console.log(content[0].text);
} finally {
  await server.close();
}
