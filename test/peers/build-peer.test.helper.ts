import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..", "..");
const built = join(root, "node_modules", ".cache", "peers");

/** The languages that peers are written in. */
export const peerNames = ["go", "cpp", "python"] as const;
export type PeerName = (typeof peerNames)[number];

interface Peer {
  /** The Debian packages that it is built with. */
  readonly packages: readonly string[];
  /** Builds it, and returns the command that runs it: a program and its first arguments. */
  build(): readonly [program: string, ...args: string[]];
  /** Further arguments, after the folder and the certificates. */
  readonly args: readonly string[];
}

const descriptors = join(built, "channelz.binpb");

const peers: Readonly<Record<PeerName, Peer>> = {
  go: {
    packages: ["golang-go", "golang-google-grpc-dev"],
    args: [],
    build: () => [compile("go", join(here, "go", "main.go"), "go-peer")],
  },
  cpp: {
    packages: ["g++", "libgrpc++-dev", "pkg-config"],
    args: [],
    build: () => [compile("cpp", join(here, "cpp", "main.cc"), "cpp-peer")],
  },
  python: {
    packages: ["python3", "python3-grpcio", "python3-protobuf"],
    args: [descriptors],
    build() {
      const buf = join(root, "node_modules", ".bin", "buf");
      run(buf, ["build", join(root, "proto"), "--path", join(root, "proto", "rpc", "channelz"), "-o", descriptors]);
      // Debian's own, which has the packages; another one may come first on the PATH.
      return ["/usr/bin/python3", join(here, "python", "main.py")];
    },
  },
};

/** Builds a peer, and installs missing packages if it runs as root. Returns the command that runs it, with all its arguments. */
export function buildPeer(name: PeerName, folder: string): readonly [program: string, ...args: string[]] {
  const peer = peers[name];
  installPackages(peer.packages);
  mkdirSync(built, { recursive: true });
  const [program, ...args] = peer.build();
  return [program, ...args, folder, join(root, "test", "certificates"), ...peer.args];
}

/** Compiles a program that a page of the documentation contains, and returns its path. */
export function buildProgram(language: "go" | "cpp", code: string): string {
  installPackages(peers[language].packages);
  mkdirSync(built, { recursive: true });
  const source = join(built, language === "go" ? "page.go" : "page.cc");
  writeFileSync(source, code);
  return compile(language, source, `${language}-page`);
}

function compile(language: "go" | "cpp", source: string, name: string): string {
  const program = join(built, name);
  if (!isOutdated(program, source)) return program;
  if (language === "go") {
    const env = { GOPATH: "/usr/share/gocode", GO111MODULE: "off", GOFLAGS: "", GOCACHE: join(built, "go-cache") };
    run("go", ["build", "-o", program, source], env);
  } else {
    const flags = run("pkg-config", ["--cflags", "--libs", "grpc++"]).trim().split(/\s+/);
    // The service is registered by a static object that nothing references.
    run("g++", ["-std=c++17", source, "-o", program, ...flags, "-Wl,--no-as-needed", "-lgrpcpp_channelz"]);
  }
  return program;
}

function installPackages(packages: readonly string[]): void {
  const missing = packages.filter((name) => {
    const { stdout, status } = spawnSync("dpkg-query", ["--status", name]);
    return status !== 0 || !/^Status: .* installed$/m.test(String(stdout));
  });
  if (missing.length === 0) return;
  const install = ["apt-get", "install", "--yes", "--no-install-recommends", ...missing];
  const advice = `This test needs packages of Debian 12 or later. Install them and run it again: sudo ${install.join(" ")}`;
  if (process.getuid?.() !== 0) throw new Error(advice);
  const [program = "", ...args] = install;
  const { status, stderr, error } = spawnSync(program, args, {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  if (status !== 0) throw new Error(`${advice}\n${error?.message ?? stderr}`);
}

function isOutdated(program: string, source: string): boolean {
  return !existsSync(program) || statSync(program).mtimeMs < statSync(source).mtimeMs;
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  return String(stdout);
}
