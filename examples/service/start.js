// JavaScript, so that old versions of Node.js can run it and report that they are too old.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 18)) {
  await import('./server.ts')
} else {
  console.error(
    `This is Node.js ${process.versions.node}, and the service needs 22.18 or newer. \`npm ci\` brings one, and \`npm start\` uses it.`
  )
  process.exitCode = 1
}
