// JavaScript, so that every Node.js can read it, and say that it is too old for what comes next.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 18)) {
  await import('./server.ts')
} else {
  console.error(`This is Node.js ${process.versions.node}, and the service needs 22.18 or newer. \`npm ci\` brings one, and \`npm start\` uses it.`)
  process.exitCode = 1
}
