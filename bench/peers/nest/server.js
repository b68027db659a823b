// NestJS on Fastify with @dataui/crud over TypeORM. Decorators are called as functions, since this is JavaScript.
import 'reflect-metadata'
import { Crud } from '@dataui/crud'
import { TypeOrmCrudService } from '@dataui/crud-typeorm'
import { Controller, Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { TypeOrmModule, getRepositoryToken } from '@nestjs/typeorm'
import { IsEmail, IsOptional, IsString, MinLength } from 'class-validator'
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm'

function decorate (target, members) {
  for (const [member, decorators] of Object.entries(members)) {
    for (const decorator of decorators) decorator(target.prototype, member)
  }
}

class User {}
decorate(User, {
  id: [PrimaryGeneratedColumn('uuid')],
  email: [Column({ type: 'text', unique: true })],
  name: [Column({ type: 'text' })],
  password: [Column({ type: 'text' })]
})
Entity('users')(User)

class Create {}
const checks = { email: [IsEmail()], name: [IsString(), MinLength(1)], password: [IsString()] }
decorate(Create, checks)

class Update {}
decorate(Update, Object.fromEntries(Object.entries(checks).map(([member, all]) => [member, [IsOptional(), ...all]])))

class UsersService extends TypeOrmCrudService {}
Injectable()(UsersService)
Inject(getRepositoryToken(User))(UsersService, undefined, 0)

class UsersController {
  constructor (service) {
    this.service = service
  }
}
Inject(UsersService)(UsersController, undefined, 0)
Crud({
  model: { type: User },
  dto: { create: Create, update: Update, replace: Create },
  params: { id: { field: 'id', type: 'uuid', primary: true } },
  query: { exclude: ['password'], limit: 20, maxLimit: 100, alwaysPaginate: false }
})(UsersController)
Controller('users')(UsersController)

const databases = {
  sqlite: ({ file }) => ({
    type: 'better-sqlite3',
    database: file,
    enableWAL: true,
    prepareDatabase: (database) => database.pragma('synchronous = NORMAL')
  }),
  postgres: ({ url }) => ({ type: 'postgres', url, poolSize: 10 })
}

export async function start (given) {
  CreateDateColumn({ type: given.store === 'postgres' ? 'timestamptz' : 'text' })(User.prototype, 'createdAt')
  class App {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ ...databases[given.store](given), entities: [User], synchronize: false }),
      TypeOrmModule.forFeature([User])
    ],
    controllers: [UsersController],
    providers: [UsersService]
  })(App)
  const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false, abortOnError: false })
  await app.listen(0, '127.0.0.1')
  return { server: app.getHttpServer() }
}
