import { connect, type Socket } from 'node:net'
import { answer, field, type Answer } from './answer.ts'
import { nextOf, type Client, type Scenario, type Step } from './scenarios.ts'

export interface Tally {
  answers: number
  latencies: number[]
  sizes: number[]
}

/** One keep-alive connection that asks again as soon as it is answered. */
export class Connection {
  readonly client: Client
  #socket: Socket
  #rest: Buffer | undefined
  #answered: (answer: Answer) => void = () => {}
  #failed: (error: Error) => void = () => {}
  #step: Step | undefined

  constructor (port: number, known: Pick<Client, 'number' | 'items' | 'padding'>) {
    this.client = { ...known, turn: 0, path: '', tag: '', id: '', location: '', next: '' }
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(65536),
        callback: (size, buffer) => {
          this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, size))
          return true
        }
      }
    })
    this.#socket.on('error', (error) => this.#failed(error))
    this.#socket.on('close', () => this.#failed(new Error('the server closed a connection')))
  }

  #read (part: Buffer) {
    const bytes = this.#rest === undefined ? part : Buffer.concat([this.#rest, part])
    const whole = answer(bytes)
    if (whole === undefined) {
      this.#rest = this.#rest === undefined ? Buffer.from(bytes) : bytes
      return
    }
    this.#rest = undefined
    const step = this.#step!
    if (!step.status.includes(whole.status)) return this.#failed(new Error(`expected ${step.status}, got ${bytes}`))
    if (step.learn === true) this.#learn(whole.head, bytes)
    this.#answered(whole)
  }

  #learn (head: string, bytes: Buffer) {
    this.client.tag = field(head, 'etag')
    this.client.location = field(head, 'location').replace(/^http:\/\/[^/]+/, '')
    if (this.client.location === '') this.client.id = /"id": ?"?([\w-]+)/.exec(bytes.toString('latin1'))?.[1] ?? ''
    this.client.next = nextOf(field(head, 'link'))
  }

  #ask (step: Step) {
    this.#step = step
    this.#socket.write(step.request(this.client), 'latin1')
  }

  prepare ({ prepare }: Scenario) {
    return new Promise<void>((resolve, reject) => {
      this.#failed = reject
      if (prepare === undefined) return resolve()
      this.#answered = () => (prepare.follow === true && this.client.next !== '' ? this.#ask(prepare) : resolve())
      this.#ask(prepare)
    })
  }

  run ({ steps }: Scenario, tally: Tally, deadline: number) {
    return new Promise<void>((resolve, reject) => {
      this.#failed = reject
      let begun = performance.now()
      let next = 0
      let size = 0
      this.#answered = (answer) => {
        tally.answers++
        size += answer.size
        if (next < steps.length) return this.#ask(steps[next++]!)
        const now = performance.now()
        tally.latencies.push(now - begun)
        if (tally.sizes.length < 64) tally.sizes.push(size)
        this.client.turn++
        if (now >= deadline) return resolve()
        begun = now
        next = 1
        size = 0
        this.#ask(steps[0]!)
      }
      next = 1
      this.#ask(steps[0]!)
    })
  }

  close () {
    this.#failed = () => {}
    this.#socket.destroy()
  }
}
